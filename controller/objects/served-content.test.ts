import assert from "node:assert/strict";
import test from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import { secretKeys, servedKeys } from "#contract/names.ts";
import { globalSecret, newSalt, publishedDigest, readPublished } from "./global-secret.ts";
import { servedContent } from "./served-content.ts";

const content = (word: string) =>
  ({ document: `{"auths":{"${word}.io":{}}}`, sources: `{"${word}.io":"additional"}` }) as const;
const six = { ...content("six"), intent: "apply", revision: 6 } as const;
const seven = { ...content("seven"), intent: "apply", revision: 7, salt: newSalt() } as const;
const salted = { ...six, salt: newSalt() };

type Change = Partial<Parameters<typeof servedContent>[0]>;

function after(change: Change): V1Secret {
  const live = globalSecret(salted);
  const known = { live, published: readPublished(live), served: six, newest: seven };
  const served = servedContent({ ...known, takesBack: false, ...change });
  return globalSecret(seven, { registration: "proved", mode: "Reread", served });
}

const decoded = ({ data = {} }: V1Secret) =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
  );
const isEmpty = (secret: V1Secret) =>
  Object.values(servedKeys).every(
    (key) => key === servedKeys.revision || secret.data?.[key] === "",
  );

test("offers new nodes the content that every node had, with its own salt, during a rollout", () => {
  const secret = after({});
  const { data = {} } = secret;
  assert.equal(decoded(secret)[servedKeys.revision], "6");
  const keys = Object.keys(servedKeys) as (keyof typeof servedKeys)[];
  const asNewest = keys.map((key) => [secretKeys[key], data[servedKeys[key]] ?? ""]);
  const read = readPublished({ data: Object.fromEntries(asNewest) as Record<string, string> });
  const before = readPublished(globalSecret(salted));
  assert.ok(read && before);
  assert.equal(publishedDigest(read), publishedDigest(before));
});

test("keeps the salt of what it offers while newer content replaces newer content", () => {
  const live = after({});
  const again = after({ live, published: readPublished(live) });
  assert.equal(again.data?.[servedKeys.salt], salted.salt.toString("base64"));
});

test("names the newest revision and repeats no content once every node has it", () => {
  const secret = after({ served: { ...seven } });
  assert.equal(decoded(secret)[servedKeys.revision], "7");
  assert.ok(isEmpty(secret));
});

const nothing: readonly (readonly [when: string, change: Change])[] = [
  ["before the first rollout is complete", { served: undefined }],
  ["under a withdrawal", { newest: { intent: "release", revision: 7 } }],
  ["from the moment when a source of it is withdrawn", { takesBack: true }],
  ["when the state is newer than the Secret", { served: { ...six, revision: 8 } }],
  ["when a withdrawal was served", { served: { ...six, intent: "release" } }],
];
for (const [when, change] of nothing)
  test(`offers new nodes nothing ${when}`, () => {
    const secret = after(change);
    assert.equal(decoded(secret)[servedKeys.revision], "0");
    assert.ok(isEmpty(secret));
  });

test("has every key in every state: a volume whose key is missing starts no pod", () => {
  const keys = [...Object.values(secretKeys), ...Object.values(servedKeys)].toSorted();
  for (const change of [{}, ...nothing.map(([, one]) => one)])
    assert.deepEqual(Object.keys(after(change).data ?? {}).toSorted(), keys);
  assert.equal(decoded(after({}))[secretKeys.mode], "Reread");
});
