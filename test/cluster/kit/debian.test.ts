import assert from "node:assert/strict";
import { test } from "node:test";
import { debianMirror, mirrorIn } from "./debian.ts";

const debian = `http://mirror.example/debian-security/ Debian-Security main
http://mirror.example/debian/ Debian main
http://mirror.example/debian/ Debian main
https://packages.example/apt cloud main
`;
const ubuntu = `http://mirror.example/ubuntu/ Ubuntu main
http://mirror.example/ubuntu/ Ubuntu universe
https://packages.example/prod microsoft-ubuntu-noble-prod main
`;
for (const [system, targets, mirror] of [
  ["Debian", debian, "http://mirror.example/debian/"],
  ["Ubuntu", ubuntu, undefined],
  ["Ubuntu with a source of Debian", ubuntu + debian, "http://mirror.example/debian/"],
  ["a system without package lists", "", undefined],
] as const)
  test(`takes ${mirror ?? "no mirror"} from apt's list on ${system}`, () => {
    assert.equal(mirrorIn(targets), mirror);
  });

test("takes the mirror that DEBIAN_MIRROR names without asking apt", async (t) => {
  const before = { ...process.env };
  t.after(() => {
    process.env["PATH"] = before["PATH"];
    if (before["DEBIAN_MIRROR"] === undefined) delete process.env["DEBIAN_MIRROR"];
    else process.env["DEBIAN_MIRROR"] = before["DEBIAN_MIRROR"];
  });
  process.env["PATH"] = "";
  process.env["DEBIAN_MIRROR"] = "http://snapshot.example/debian/20260101T000000Z";
  assert.equal(await debianMirror(), "http://snapshot.example/debian/20260101T000000Z");
});
