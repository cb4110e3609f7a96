/**
 * Several programs write config.json. The entries of other programs survive all our changes to the
 * file.
 */
import assert from "node:assert/strict";
import { longTest } from "../sample.ts";
import { after, before, test } from "node:test";
import { readOrder } from "#contract/order.ts";
import * as names from "#contract/names.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import type { Node } from "../cluster/node.ts";
import { agentOn, allAtOnce, auths, fileMark, nodeObject } from "./nodes.ts";
import * as product from "./product.ts";

let cluster: Cluster;
/** node1 has a file of another program, with an entry for our registry. node2 has no file. */
let shared: Node;
let bare: Node;
const elsewhere = { auth: "c29tZWJvZHk6ZWxzZQ==" };
const later = { auth: "YWRkZWQ6bGF0ZXI=" };
let displaced: { auth: string; email: string };
const headers = { "X-Site": "b" };

before(async () => {
  cluster = await startCluster();
  const [firstNode, two] = cluster.nodes;
  assert.ok(firstNode && two);
  [shared, bare] = [firstNode, two];
  displaced = { ...cluster.registry.auth("original"), email: "site@b.example" };
  const before = {
    auths: { "elsewhere.example": elsewhere, [cluster.registry.host]: displaced },
    HttpHeaders: headers,
  };
  shared.writeFile("config.json", JSON.stringify(before, undefined, 2), 0o640);
  await product.installProduct(cluster, { settings: allAtOnce });
});
after(() => cluster?.down());

const ours = () => cluster.registry.auth("additional");

/** Edits config.json as another program might do: writes a new file and renames it. */
async function edit(
  node: Node,
  change: (file: { auths: Record<string, object> }) => void,
): Promise<void> {
  const file = JSON.parse(node.readFile("config.json")?.toString() ?? '{"auths":{}}') as {
    auths: Record<string, object>;
  };
  change(file);
  await node.exec(
    [
      "sh",
      "-c",
      `cat > /tmp/edit && chmod 600 /tmp/edit && mv /tmp/edit /var/lib/kubelet/config.json`,
    ],
    JSON.stringify(file, undefined, 2),
  );
}

/**
 * Writes the Secret with the entry of the private registry and with these entries, and waits until
 * every node has the new content.
 */
async function serve(more: Record<string, object> = {}): Promise<void> {
  const served = (await product.revision(cluster)) ?? 0;
  await product.writeAdditional(
    cluster,
    JSON.stringify({ auths: { [cluster.registry.host]: ours(), ...more } }),
  );
  await product.untilServed(cluster, served);
}

test("H16: adds our entry to another program's file, keeps all other entries, and lets only root read the file", async () => {
  await serve();
  const file = JSON.parse(shared.readFile("config.json")?.toString() ?? "") as {
    HttpHeaders: object;
  };
  assert.deepEqual(file, {
    auths: { "elsewhere.example": elsewhere, [cluster.registry.host]: ours() },
    HttpHeaders: headers,
  });
  assert.match(await fileMark(shared), / 600 0:0$/m);
  assert.deepEqual(auths(bare), { [cluster.registry.host]: ours() });
  assert.match(await fileMark(bare), / 600 0:0$/m);
});

test("keeps an entry that another program has added between two of our changes", async () => {
  await edit(shared, (file) => void (file.auths["later.example"] = later));
  await serve({ "second.example": elsewhere });
  assert.deepEqual(auths(shared), {
    "elsewhere.example": elsewhere,
    [cluster.registry.host]: ours(),
    "later.example": later,
    "second.example": elsewhere,
  });
});

longTest(
  "neither corrupts the file nor repeats a kubelet restart when agents' pods are deleted by force during changes",
  async () => {
    let wrong = "";
    let over = false;
    const watching = (async () => {
      await until(
        "the deletions are over",
        () => {
          for (const node of cluster.nodes) {
            const file = node.readFile("config.json")?.toString() ?? "";
            const entries = parsed(file);
            if (entries?.[cluster.registry.host]?.auth !== ours().auth)
              wrong ||= `${node.name}: ${file.length} bytes without our entry`;
            if (node === shared && entries?.["later.example"] === undefined)
              wrong ||= "an entry of others was lost";
          }
          return over;
        },
        { timeout: 240_000, every: 5 },
      );
    })();
    // Counts only lines of systemd, because the kubelet also logs "Started kubelet".
    const restarts = async () =>
      (await shared.journal()).match(/systemd\[1\]: Started /g)?.length ?? 0;
    const before = await restarts();
    const rounds = 2;
    for (let round = 1; round <= rounds; round++) {
      const served = (await product.revision(cluster)) ?? 0;
      await product.writeAdditional(
        cluster,
        JSON.stringify({
          auths: { [cluster.registry.host]: ours(), [`round${round}.example`]: elsewhere },
        }),
      );
      await until("the node is asked", async () => {
        const order = readOrder((await nodeObject(cluster, shared))?.spec);
        return (order?.revision ?? 0) > served;
      });
      for (const node of cluster.nodes) {
        const { name } = (await agentOn(cluster, node)).metadata;
        await cluster.kubectl(
          "delete",
          "pod",
          name,
          "-n",
          names.namespace,
          "--force",
          "--grace-period=0",
          "--wait=false",
        );
      }
      await product.untilServed(cluster, served);
    }
    over = true;
    await watching;
    assert.equal(wrong, "");
    assert.equal((await restarts()) - before, rounds);
  },
);

function parsed(file: string): Record<string, { auth: string }> | undefined {
  try {
    return (JSON.parse(file) as { auths: Record<string, { auth: string }> }).auths;
  } catch {
    return undefined;
  }
}

test("H18: reverts only our change in a rollback, and keeps an entry that another program wrote meanwhile", async () => {
  const before = auths(shared);
  await shared.breakKubelet(
    "[Service]\nExecStartPre=/bin/sh -c '! grep -q bad.example /var/lib/kubelet/config.json'\n",
  );
  await product.writeAdditional(
    cluster,
    JSON.stringify({
      auths: {
        [cluster.registry.host]: ours(),
        "second.example": elsewhere,
        "bad.example": elsewhere,
      },
    }),
  );
  await until("our change is in the file", () => "bad.example" in auths(shared));
  await edit(shared, (file) => void (file.auths["meanwhile.example"] = later));
  await product.untilEvent(cluster, "RolloutHalted", /failed on 1 node \(node1\)/);
  assert.deepEqual(auths(shared), { ...before, "meanwhile.example": later });
  assert.ok("bad.example" in auths(bare), "the other node's kubelet runs well with the change");
  await shared.healKubelet();
  // With a new entry the kubelet is restarted. Without one it would read the file in five minutes.
  await serve({ "third.example": elsewhere });
});

test("H20: restores the displaced entry, keeps others' entries, and deletes config.json where no such file existed before", async () => {
  await product.deleteAdditional(cluster);
  await product.untilRemoved(cluster);
  assert.deepEqual(JSON.parse(shared.readFile("config.json")?.toString() ?? ""), {
    auths: {
      "elsewhere.example": elsewhere,
      [cluster.registry.host]: displaced,
      "later.example": later,
      "meanwhile.example": later,
    },
    HttpHeaders: headers,
  });
  assert.match(await fileMark(shared), / 640 0:0$/m);
  assert.equal(bare.readFile("config.json"), undefined);
  for (const node of cluster.nodes)
    assert.equal(node.readFile("global-pull-secret/journal.json"), undefined);
});
