import assert from "node:assert/strict";
import { test } from "node:test";
import { Credential } from "#pullsecret/document/auth.ts";
import type { Entry } from "#pullsecret/document/parse.ts";
import {
  hostOfKey,
  isQuestion,
  planOf,
  questionsOf,
  verdictsOf,
  type Answers,
  type Verdict,
} from "./question.ts";

const entryOf = (registry: string, user = "u", isPlain?: true): Entry => ({
  registry,
  credential: new Credential(user, "p"),
  ...(isPlain && { isPlain }),
});

const hosts: readonly (readonly [key: string, host: string | undefined])[] = [
  ["quay.io", "quay.io"],
  ["quay.io/team/app", "quay.io"],
  ["https://registry.example:5000/v2/", "registry.example:5000"],
  ["[::1]:5000", "[::1]:5000"],
  ["https://index.docker.io/v1/", "registry-1.docker.io"],
  ["docker.io/team", "registry-1.docker.io"],
  ["*.example.com", undefined],
];
for (const [key, host] of hosts)
  test(`uses ${host ?? "no host"} for ${key}`, () => assert.equal(hostOfKey(key), host));

/** `HOST PATH:REFERENCE USERS`, or `HOST USERS` for a login. */
const asked = (entries: readonly Entry[], images: readonly string[]) =>
  questionsOf(planOf(entries, images)).map(({ host, pull, tries }) =>
    [
      host,
      ...(pull === undefined ? [] : [`${pull.path}@${pull.reference}`]),
      tries.map(({ credential, isPlain }) => credential.username + (isPlain ? "!" : "")).join(),
    ].join(" "),
  );

const digest = `sha256:${"a".repeat(64)}`;
const plans: readonly (readonly [
  why: string,
  entries: readonly Entry[],
  images: readonly string[],
  asked: readonly string[],
])[] = [
  [
    "a login for an entry without an image",
    [entryOf("a.io"), entryOf("b.io/x")],
    [],
    ["a.io u", "b.io u"],
  ],
  ["nothing for a pattern", [entryOf("*.a.io")], [], []],
  ["no image of a pattern", [entryOf("*.a.io")], ["x.a.io/app"], []],
  [
    "an image with its entries in the kubelet's order, and a login for each entry",
    [entryOf("a.io", "host"), entryOf("a.io/team", "team")],
    ["a.io/team/app:1"],
    ["a.io team/app@1 team,host", "a.io host", "a.io team"],
  ],
  [
    "the digest of an image",
    [entryOf("a.io")],
    [`a.io/x:1@${digest}`],
    [`a.io x@${digest} u`, "a.io u"],
  ],
  [
    "Docker Hub at the host that serves its images",
    [entryOf("https://index.docker.io/v1/")],
    ["nginx"],
    ["registry-1.docker.io library/nginx@latest u", "registry-1.docker.io u"],
  ],
  [
    "no local host with Docker Hub's credential",
    [entryOf("https://index.docker.io/v1/")],
    ["localhost/app"],
    ["registry-1.docker.io u"],
  ],
  [
    "over plain HTTP only the credentials whose key says so",
    [entryOf("a.io:5000", "tls"), entryOf("a.io:5000/team", "plain", true)],
    ["a.io:5000/team/app"],
    ["a.io:5000 team/app@latest plain!,tls", "a.io:5000 tls", "a.io:5000 plain!"],
  ],
  ["Docker Hub only over TLS", [entryOf("docker.io", "u", true)], [], ["registry-1.docker.io u"]],
  ["equal questions once", [entryOf("a.io/x"), entryOf("a.io/y")], [], ["a.io u"]],
  [
    "one credential over TLS and over plain HTTP",
    [entryOf("a.io:5000/x"), entryOf("a.io:5000/y", "u", true)],
    [],
    ["a.io:5000 u", "a.io:5000 u!"],
  ],
  ["no host in an odd notation of an address", [entryOf("0x7f.0.0.1:80")], [], []],
  ["no image that no entry serves", [entryOf("a.io")], ["b.io/x"], ["a.io u"]],
];
for (const [why, entries, images, expected] of plans)
  test(`asks ${why}`, () => assert.deepEqual(asked(entries, images), expected));

const said = (answer: Verdict["answer"], wasAsked = true): Verdict => ({
  answer,
  why: "",
  asked: wasAsked,
});
const [yes, no, perhaps, open] = [
  said("Accepted"),
  said("Denied"),
  said("Unknown"),
  said("Accepted", false),
];

/** Of a pull with two tries: its answers, and the answer to a login of each entry → verdicts. */
const outcomes: readonly (readonly [
  pull: Answers | undefined,
  login: Verdict | undefined,
  image: Verdict["answer"] | undefined,
  first: Verdict["answer"] | undefined,
  second: Verdict["answer"] | undefined,
])[] = [
  [[yes], no, "Accepted", "Accepted", "Denied"],
  [[no, yes], yes, "Accepted", "Accepted", "Accepted"],
  [[no, yes], no, "Accepted", "Denied", "Accepted"],
  [[no, no], yes, "Denied", "Denied", "Denied"],
  [[no, perhaps], yes, "Unknown", "Accepted", "Accepted"],
  [[perhaps, no], no, "Unknown", "Denied", "Denied"],
  [[perhaps, perhaps], yes, "Unknown", "Accepted", "Accepted"],
  [[open], yes, "Accepted", "Accepted", "Accepted"],
  [[open], no, "Accepted", "Denied", "Denied"],
  [undefined, yes, undefined, "Accepted", "Accepted"],
  [[yes], undefined, "Accepted", "Accepted", undefined],
];
for (const [pull, login, ...expected] of outcomes)
  test(`judges image and entries ${expected.join(", ")} from ${JSON.stringify([pull, login])}`, () => {
    const [first, second] = [entryOf("a.io/team", "team"), entryOf("a.io", "host")];
    const plan = planOf([first, second], ["a.io/team/app"]);
    const answersOf = (question: { pull: unknown }) =>
      question.pull === undefined ? login && [login] : pull;
    const { entries, images } = verdictsOf(plan, answersOf);
    const verdicts = [images[0], entries.get(first), entries.get(second)];
    assert.deepEqual(
      verdicts.map((verdict) => verdict?.answer),
      expected,
    );
  });

test("accepts an entry that serves one image and is denied for another", () => {
  const entry = entryOf("a.io");
  const plan = planOf([entry], ["a.io/x", "a.io/y"]);
  const { entries, images } = verdictsOf(plan, ({ pull }) => [pull?.path === "x" ? yes : no]);
  assert.equal(entries.get(entry)?.answer, "Accepted");
  assert.deepEqual(
    images.map(({ answer }) => answer),
    ["Accepted", "Denied"],
  );
});

test("gives a reason for everything that cannot be asked", () => {
  const { pulls, logins } = planOf([entryOf("*.a.io")], ["A B", "b.io/x", "localhost/x"]);
  for (const { question } of [...pulls, ...logins]) {
    assert.ok(!isQuestion(question));
    assert.deepEqual([question.answer, question.asked], ["Unknown", false]);
    assert.notEqual(question.why, "");
  }
});
