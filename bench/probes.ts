/**
 * A process of its own, in whatever network: asks as the kubelet's probe does. `node probes.ts
 * COUNT PORT`
 */
const [count, port] = process.argv.slice(2).map(Number);
for (let asked = 0; asked < (count ?? 0); asked++) {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`, {
    headers: { connection: "close" },
  });
  if (!answer.ok) throw new Error(await answer.text());
  await answer.text();
}
