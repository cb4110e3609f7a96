/**
 * The README's story with the built controller on a fake API server. test/controller/story.test.ts
 * plays the same story on a real API server, and compares the results.
 */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { playOnFakeApi } from "../harness/fake-stage.ts";
import { documents, nodeNames, type Chapter } from "../harness/story.ts";

describe("plays the README's story on a fake API server", () => {
  let chapters: ReadonlyMap<string, Chapter>;

  before(async () => {
    const played = await playOnFakeApi();
    chapters = new Map(played.map((chapter) => [chapter.title, chapter]));
  });

  const chapter = (title: string): Chapter => {
    const playedChapter = chapters.get(title);
    assert.ok(playedChapter, `there is no chapter ${title}`);
    return playedChapter;
  };
  const everywhere = (document: string) => nodeNames.map(() => document);
  const ready = ({ conditions }: Chapter) =>
    conditions.find((condition) => condition.startsWith("Ready="));

  test("HD: creates the objects in the order of the drawing when the Secret is created", () => {
    const { writes } = chapter("create");
    assert.deepEqual(
      writes.filter((write) => write.endsWith(": 201")),
      [
        "patch secrets/global-pull-secret-state as state: 201",
        "patch secrets/global-pull-secret: 201",
        "patch serviceaccounts/global-pull-secret-syncer: 201",
        "patch rbac.authorization.k8s.io/roles/global-pull-secret-syncer: 201",
        "patch rbac.authorization.k8s.io/rolebindings/global-pull-secret-syncer: 201",
        "patch apps/daemonsets/global-pull-secret-syncer: 201",
        ...nodeNames.map(() => "create nodepullsecrets: 201"),
      ],
    );
  });

  test("H5: delivers the content to every node after the Secret is created and after it is changed", () => {
    for (const [title, document] of [
      ["create", documents.first],
      ["rotate", documents.rotated],
    ] as const) {
      assert.deepEqual(chapter(title).nodes, everywhere(document));
      assert.equal(ready(chapter(title)), "Ready=True InForce");
      assert.ok(chapter(title).events.some((event) => event.startsWith("Normal RolledOut: ")));
    }
  });

  test("H7: writes nothing when the Secret is refused", () => {
    const { writes, nodes } = chapter("refuse");
    assert.deepEqual([writes, nodes], [[], everywhere(documents.rotated)]);
  });

  test("H24: reports a refused Secret with the path of the mistake, without its value", () => {
    const refused = chapter("refuse");
    assert.equal(ready(refused), "Ready=False SourceRejected");
    const [event = "", ...more] = refused.events;
    assert.deepEqual(more, []);
    assert.match(event, /^Warning Rejected: GPS115 additional: auths\["r0\.example"\]\.auth: /);
    assert.ok(!event.includes(documents.mistake));
  });

  test("keeps the content of every other node when an agent fails with new content", () => {
    const halted = chapter("halt");
    assert.deepEqual(halted.nodes, everywhere(documents.rotated));
    assert.equal(ready(halted), "Ready=False Halted");
    assert.ok(
      halted.events.some((event) =>
        event.includes("revision N failed on 1 node (NODE), so no other"),
      ),
    );
  });

  test("H20, H21: removes the entries from every node, and then all objects, the Secrets last", () => {
    const { writes, nodes } = chapter("withdraw");
    assert.deepEqual(nodes, everywhere("none"));
    assert.deepEqual(
      writes.filter((write) => write.startsWith("delete ")),
      [
        "delete apps/daemonsets/global-pull-secret-syncer: 200",
        "delete rbac.authorization.k8s.io/rolebindings/global-pull-secret-syncer: 200",
        "delete rbac.authorization.k8s.io/roles/global-pull-secret-syncer: 200",
        "delete serviceaccounts/global-pull-secret-syncer: 200",
        ...nodeNames.map(() => "delete nodepullsecrets: 200"),
        "delete secrets/global-pull-secret: 200",
        "delete secrets/global-pull-secret-state: 200",
      ],
    );
  });
});
