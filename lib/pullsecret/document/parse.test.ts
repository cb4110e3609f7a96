import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { parse, type Parsed } from "./parse.ts";
import { formatProblem } from "../problems/problems.ts";
import { identity } from "../registry/registry.ts";

type Role = "original" | "additional";
type Bytes = string | Uint8Array;

function read(bytes: Bytes, role: Role = "additional"): Parsed {
  return parse(typeof bytes === "string" ? Buffer.from(bytes) : bytes, { name: role, role });
}

/** `accept`, or the codes of the findings; a problem's code begins with an exclamation mark. */
function verdict(parsed: Parsed): string {
  const codes = (parsed.ok ? parsed.warnings : parsed.problems).map(({ code }) => code).join(" ");
  return parsed.ok ? codes || "accept" : `!${codes}`;
}

function auth(text: string): string {
  return Buffer.from(text).toString("base64");
}

function document(key: string, entry: unknown = { auth: "dTpw" }): string {
  return JSON.stringify({ auths: Object.fromEntries([[key, entry]]) });
}

/** The reason, the document, and the verdicts for an additional source and for an original. */
const documents: readonly (readonly [
  why: string,
  bytes: Bytes,
  additional: string,
  original: string,
])[] = [
  ["the kubelet reads null as no credentials", "null", "!GPS110", "GPS163"],
  ["the kubelet reads {} as no credentials", "{}", "!GPS110", "GPS163"],
  ["the kubelet reads null auths as no credentials", '{"auths":null}', "!GPS110", "GPS163"],
  ["the kubelet drops a list", "[]", "!GPS110", "!GPS110"],
  ["the kubelet drops a string", '"x"', "!GPS110", "!GPS110"],
  ["the kubelet drops a number", "5", "!GPS110", "!GPS110"],
  ["auths is a list", '{"auths":[]}', "!GPS109", "!GPS109"],
  ["white space only", " \n", "!GPS103", "!GPS103"],
  ["a comment", '{"auths":{}/**/}', "!GPS103", "!GPS103"],
  ["a single quote", "{'auths':{}}", "!GPS103", "!GPS103"],
  ["a raw line break in a string", '{"auths":{"a.io":{"auth":"dT\npw"}}}', "!GPS103", "!GPS103"],
  ["UTF-16", Buffer.from('{"auths":{}}', "utf16le"), "!GPS103", "!GPS103"],
  ["UTF-16 with a mark", Buffer.from('\ufeff{"auths":{}}', "utf16le"), "!GPS102", "!GPS102"],
  ["a cut-off document", '{"auths":{"a.io":{"auth":"dTpw"', "!GPS103", "!GPS103"],
  [
    "Go reads half a surrogate pair as U+FFFD",
    '{"auths":{"a.io":{"auth":"dTpw","email":"\\ud800"}}}',
    "!GPS107",
    "!GPS107",
  ],
  ["half a pair in a key", '{"auths":{"\\udc00":{"auth":"dTpw"}}}', "!GPS107", "!GPS107"],
  [
    "a whole pair is fine",
    '{"auths":{"a.io":{"auth":"dTpw","email":"\\ud83d\\ude00"}}}',
    "accept",
    "accept",
  ],
  ["33 levels", `${'{"x":'.repeat(32)}{}${"}".repeat(32)}`, "!GPS104", "!GPS104"],
  ["a million brackets do not exhaust the stack", "[".repeat(1_000_000), "!GPS104", "!GPS104"],
  ["a byte more than 1 MiB", " ".repeat(1024 * 1024 + 1), "!GPS101", "!GPS101"],
  [
    "duplicate registry: Node, Go and CRI-O keep the last, but no standard requires it",
    '{"auths":{"a.io":{"auth":"dTpw"},"a.io":{"auth":"dTpx"}}}',
    "!GPS105",
    "!GPS105",
  ],
  ["duplicate field", '{"auths":{"a.io":{"auth":"dTpw","auth":"dTpw"}}}', "!GPS105", "!GPS105"],
  ["duplicate below an unknown key", '{"auths":{},"x":{"y":1,"y":2}}', "!GPS105", "!GPS105"],
  [
    "duplicate written with an escape",
    '{"auths":{"a.io":{"auth":"dTpw"},"\\u0061.io":{"auth":"dTpw"}}}',
    "!GPS105",
    "!GPS105",
  ],
  ["__proto__ at the top", '{"auths":{},"__proto__":{}}', "!GPS106", "!GPS106"],
  [
    "__proto__ as a field",
    '{"auths":{"a.io":{"auth":"dTpw","__proto__":1}}}',
    "!GPS106",
    "!GPS106",
  ],
  [
    "auths with U+017F: the kubelet reads it as auths",
    '{"auth\u017f":{"a.io":{"auth":"dTpw"}}}',
    "!GPS112",
    "!GPS112",
  ],
  ["auths in two spellings", '{"auths":{},"Auths":{"a.io":{"auth":"dTpw"}}}', "!GPS112", "!GPS112"],
  ["a number beyond a double", '{"auths":{},"x":1e999}', "!GPS108", "!GPS108"],
  [
    "an integer that a double rounds",
    '{"auths":{},"x":12345678901234567890}',
    "!GPS108",
    "!GPS108",
  ],
  [
    "HttpHeaders of a wrong type: the kubelet drops the file",
    '{"auths":{},"HttpHeaders":{"X":1}}',
    "!GPS114",
    "!GPS114",
  ],
  ["HttpHeaders with U+017F", '{"auths":{},"httpheader\u017f":[]}', "!GPS114", "!GPS114"],
  [
    "HttpHeaders: the kubelet parses and ignores them",
    '{"auths":{},"HttpHeaders":{"X":"y"}}',
    "GPS153",
    "accept",
  ],
  [
    "credHelpers of a wrong type: CRI-O fails every pull",
    '{"auths":{},"credHelpers":{"a.io":1}}',
    "!GPS114",
    "!GPS114",
  ],
  [
    "credHelpers: only the platform may make nodes run them",
    '{"auths":{},"credHelpers":{"a.io":"x"}}',
    "GPS179",
    "accept",
  ],
  ["credsStore: as credHelpers", '{"auths":{},"credsStore":"desktop"}', "GPS179", "accept"],
  ["no helper", '{"auths":{},"credHelpers":{},"credsStore":""}', "GPS153", "accept"],
  ["an unknown key", '{"auths":{},"detachKeys":"ctrl-q"}', "GPS153", "accept"],
  [
    "a Secret manifest instead of its value",
    '{"apiVersion":"v1","kind":"Secret","data":{".dockerconfigjson":"e30="}}',
    "!GPS130",
    "!GPS130",
  ],
];

/** Entries under the key a.io. */
const entries: readonly (readonly [
  why: string,
  entry: unknown,
  additional: string,
  original: string,
])[] = [
  [
    "as kubectl create secret docker-registry writes it",
    { auth: "dTpw", username: "u", password: "p", email: "e" },
    "accept",
    "accept",
  ],
  ["null is an empty credential that is tried", null, "!GPS109", "GPS163"],
  [
    "{} is a credential helper's marker: an additional source with nothing else is empty",
    {},
    "!GPS132",
    "GPS163",
  ],
  ["helpers leave an e-mail address behind", { email: "e" }, "!GPS132", "GPS163"],
  ["an empty auth is not a marker: a value is missing", { auth: "" }, "!GPS118", "GPS163"],
  ["a misspelt field is not a marker either", { pasword: "x" }, "!GPS118", "GPS152 GPS163"],
  ["a list makes the kubelet drop the file", [], "!GPS109", "!GPS109"],
  ["a number makes the kubelet drop the file", 5, "!GPS109", "!GPS109"],
  ["auth as a number", { auth: 5 }, "!GPS113", "!GPS113"],
  ["a password as an object", { username: "u", password: {} }, "!GPS113", "!GPS113"],
  [
    "null fields count as absent",
    { auth: "dTpw", username: null, password: null, email: null },
    "accept",
    "accept",
  ],
  ...["auth", "username", "password", "email", "identitytoken", "registrytoken"].flatMap((name) =>
    [5, false, [], {}].map((value) => {
      const entry = { auth: "dTpw", [name]: value };
      return [`${name} is ${JSON.stringify(value)}`, entry, "!GPS113", "!GPS113"] as const;
    }),
  ),
  ...["Auth", "Username", "Password", "Email", "Identitytoken", "Registrytoken"].flatMap((name) =>
    ["u", null, 5].map((value) => {
      const entry = { auth: "dTpw", [name]: value };
      return [`${name} is ${JSON.stringify(value)}`, entry, "!GPS112", "!GPS112"] as const;
    }),
  ),
  [
    "empty auth falls back to username and password",
    { auth: "", username: "u", password: "p" },
    "accept",
    "accept",
  ],
  ["user only: some registries take a token as user", { username: "u" }, "GPS154", "GPS154"],
  ["empty password in auth", { auth: auth("u:") }, "GPS154", "GPS154"],
  ["a password alone: every runtime pulls anonymously", { password: "p" }, "!GPS118", "GPS163"],
  ["no user in auth", { auth: auth(":p") }, "!GPS118", "GPS163"],
  [
    "a colon in username cannot be written as auth",
    { username: "u:v", password: "p" },
    "!GPS131",
    "GPS169",
  ],
  ["an identity token alone: CRI-O may depend on it", { identitytoken: "t" }, "!GPS120", "GPS163"],
  [
    "docker login to Azure writes a user of zeros beside the token: the kubelet pulls with the empty password",
    { auth: auth("00000000-0000-0000-0000-000000000000:"), identitytoken: "t" },
    "GPS168",
    "GPS168",
  ],
  ["a number as token breaks CRI-O", { auth: "dTpw", identitytoken: 5 }, "!GPS113", "!GPS113"],
  ["a registry token alone", { registrytoken: "t" }, "!GPS120", "GPS163"],
  [
    "a token beside a password is dropped",
    { auth: "dTpw", registrytoken: "t" },
    "GPS152",
    "GPS152",
  ],
  ["an empty token counts as absent", { auth: "dTpw", identitytoken: "" }, "accept", "accept"],
  ["an unknown field", { auth: "dTpw", pasword: "x" }, "GPS152", "GPS152"],
  ["serveraddress repeats the key", { auth: "dTpw", serveraddress: "a.io" }, "accept", "accept"],
  ["Auth: the kubelet reads it, other programs might not", { Auth: "dTpw" }, "!GPS112", "!GPS112"],
  ["a password field with U+017F", { "pa\u017fsword": "p", username: "u" }, "!GPS112", "!GPS112"],
  ["padding that does not belong there", { auth: "dTpw=" }, "!GPS115", "!GPS115"],
  ["too much padding", { auth: "dXM6cGE==" }, "!GPS115", "!GPS115"],
  ["padding in two lines", { auth: "dTo=\n" }, "GPS154", "GPS154"],
  ["one character in the last group", { auth: "dTpwd" }, "!GPS115", "!GPS115"],
  [
    "the URL alphabet",
    { auth: Buffer.from("u:\u00ff\u00fe?>").toString("base64url") },
    "!GPS115",
    "!GPS115",
  ],
  ["a space at the end", { auth: "dTpw " }, "!GPS115", "!GPS115"],
  [
    "non-zero trailing bits pass in Go; we write them as zero",
    { auth: "dXM6cGF=" },
    "accept",
    "accept",
  ],
  ["base64 twice", { auth: auth(auth("u:p")) }, "!GPS116", "!GPS116"],
  [
    "Latin-1 is not a protobuf string, so the pull would fail",
    { auth: Buffer.from("u:p\u00e4", "latin1").toString("base64") },
    "!GPS117",
    "GPS169",
  ],
  ["UTF-8 beyond ASCII", { auth: auth("u:p\u00e4ss") }, "accept", "accept"],
  ["echo u:p | base64", { auth: auth("u:p\n") }, "GPS155", "GPS155"],
  [
    "a JSON key file has line breaks inside",
    { auth: auth('_json_key:{\n\t"k": 1\r\n}') },
    "accept",
    "accept",
  ],
  ["CRI-O cuts a password off at a NUL", { auth: auth("u:p\u0000") }, "!GPS119", "GPS163"],
  ["escape in the password", { auth: auth("u:\u001bp") }, "!GPS119", "GPS163"],
  ["tab in the user name", { auth: auth("u\tv:p") }, "!GPS119", "GPS163"],
  ["a space before the user name", { auth: auth(" u:p") }, "GPS155", "GPS155"],
  ["a space inside the user name", { auth: auth("u v:p") }, "accept", "accept"],
  ["username differs from auth", { auth: "dTpw", username: "v" }, "GPS151", "GPS151"],
  ["password differs from auth", { auth: "dTpw", password: "q" }, "GPS151", "GPS151"],
];

for (const [table, cases] of [
  ["a document", documents],
  ["an entry", entries.map(([why, entry, a, o]) => [why, document("a.io", entry), a, o] as const)],
] as const) {
  test(`H24: judges ${table} by the effect on a node`, () => {
    for (const [why, bytes, additional, original] of cases) {
      assert.equal(verdict(read(bytes, "additional")), additional, `additional: ${why}`);
      assert.equal(verdict(read(bytes, "original")), original, `original: ${why}`);
    }
  });
}

function registries(count: number): string {
  const members = Array.from(
    { length: count },
    (_, index) => [`r${index}.io`, { auth: "dTpw" }] as const,
  );
  return JSON.stringify({ auths: Object.fromEntries(members) });
}

test("H24: accepts 1,000 registries, and refuses one more", () => {
  assert.equal(verdict(read(registries(1000))), "accept");
  assert.equal(verdict(read(registries(1001))), "!GPS111");
});

test("reports every bad entry with its key path", () => {
  const parsed = read('{"auths":{"b.io":{"auth":"%"},"a.io":{"auth":"bm9jb2xvbg=="},"c.io":null}}');
  assert.ok(!parsed.ok);
  assert.deepEqual(parsed.problems.map(formatProblem), [
    'additional: auths["b.io"].auth: not base64; give base64 of user:password in the standard alphabet, without spaces',
    'additional: auths["a.io"].auth: no colon in the decoded text; give base64 of user:password',
    'additional: auths["c.io"]: not an object; give an object such as {"auth": "..."}',
  ]);
});

test("reports bad JSON with line and column, never with its text", () => {
  const parsed = read('{"auths":{\n  "a.io":{"auth":"dTpw",}}}');
  assert.ok(!parsed.ok && !parsed.isIdle);
  assert.match(
    formatProblem(parsed.problems[0] ?? assert.fail()),
    /^additional: line 2, column 25: not JSON; /,
  );
});

test("keeps an original's other top-level keys unchanged, and drops those of an additional source", () => {
  const text = '{"auths":{},"credHelpers":{"a.io":"ecr"},"x":[1,{"constructor":null}]}';
  const [original, additional] = [read(text, "original"), read(text, "additional")];
  assert.ok(original.ok && additional.ok);
  assert.equal(
    JSON.stringify(original.rest),
    '{"credHelpers":{"a.io":"ecr"},"x":[1,{"constructor":null}]}',
  );
  assert.equal(JSON.stringify(additional.rest), "{}");
});

const hub = "https://index.docker.io/v1/";

/** Leftovers of tools beside real entries; the messages for both kinds of source. */
const leftovers: readonly (readonly [
  why: string,
  auths: object,
  additional: string,
  original: string,
])[] = [
  ["a helper's marker", { "a.io": { auth: "dTpw" }, "b.io": {} }, "GPS166", "GPS163"],
  [
    "a marker under a key that would be refused",
    { "a.io": { auth: "dTpw" }, "B.IO": {} },
    "GPS166",
    "GPS163 GPS163",
  ],
  [
    "the tokens of docker login in a browser",
    {
      [hub]: { auth: "dTpw" },
      [`${hub}access-token`]: { auth: "dTph" },
      [`${hub}refresh-token`]: { auth: "dTpy" },
    },
    "GPS167 GPS167",
    "GPS167 GPS167",
  ],
  [
    "a broken token of docker login",
    { [hub]: { auth: "dTpw" }, [`${hub}access-token`]: { auth: 5 } },
    "!GPS113",
    "!GPS113",
  ],
  [
    "a token of docker login without Docker Hub's entry",
    { [`${hub}access-token`]: { auth: "dTph" } },
    "!GPS132",
    "!GPS132",
  ],
  ["markers only", { "a.io": {}, "b.io": {} }, "!GPS132", "GPS163 GPS163"],
  ["a marker beside a mistake", { "a.io": {}, "b.io": { auth: "%" } }, "!GPS115", "!GPS115"],
];

test("H24: accepts what docker login and credential helpers leave beside real entries", () => {
  for (const [why, auths, additional, original] of leftovers) {
    const text = JSON.stringify({ auths });
    assert.equal(verdict(read(text, "additional")), additional, `additional: ${why}`);
    assert.equal(verdict(read(text, "original")), original, `original: ${why}`);
  }
});

const good = { auth: "dTpw" };
const hubKey = (rest: string) => `auths["${hub}${rest}"]`;

/**
 * Documents, and every finding with its place and its words. A finding that refuses the source
 * begins with an exclamation mark. The second list is for an original whose findings differ.
 */
const findings: readonly (readonly [
  document: unknown,
  additional: readonly string[],
  original?: readonly string[],
])[] = [
  ["{", ["!line 1, column 2: not JSON"]],
  ["kind: Secret", ["!line 1, column 1: a Secret manifest, not a pull secret"]],
  [
    '{"auths":{"a.io":{"auth":"a","auth":"b"},"b.io":{"__proto__":1}},"x":[1,1e999]}',
    [
      '!auths["a.io"].auth: the key occurs twice',
      '!auths["b.io"].__proto__: a key that no registry or field can have',
      "!x[1]: a number that cannot be stored exactly",
    ],
  ],
  [5, ["!auths: auths is missing"]],
  [{}, ["!auths: auths is missing"], ["auths: kept, but auths is missing"]],
  [{ auths: [] }, ["!auths: not an object"]],
  [{ kind: "Secret" }, ["!document: a Secret manifest, not a pull secret"]],
  [
    { kind: "List", apiVersion: "v1" },
    ["!document: a manifest, but not of a Secret"],
    ["document: kept, but a manifest, but not of a Secret"],
  ],
  [
    { "a.io": good },
    ["!document: registries without auths around them, as in the old .dockercfg"],
    ["document: kept, but registries without auths around them, as in the old .dockercfg"],
  ],
  [{ Auths: {} }, ["!Auths: must be spelled auths"]],
  [{ auths: {}, credHelpers: [] }, ["!credHelpers: not an object of strings"]],
  [
    { auths: {}, credsStore: "x", y: 1 },
    ["credsStore: names credential helpers, and is taken out", "document: merged without y"],
    [],
  ],
  [JSON.parse(registries(1001)), ["!auths: more than 1,000 registries"]],
  [
    { auths: { "a.io": good, "c.io": {}, "b.io": {} } },
    [
      'auths["c.io"]: has no credential, and is left out',
      'auths["b.io"]: has no credential, and is left out',
    ],
    ['auths["c.io"]: kept, but no user name', 'auths["b.io"]: kept, but no user name'],
  ],
  [
    { auths: { [`${hub}access-token`]: good, [`${hub}refresh-token`]: good } },
    [
      `!${hubKey("access-token")}: has no credential for a node, and no other entry has one`,
      `${hubKey("access-token")}: is docker login's own token, and is left out`,
      `${hubKey("refresh-token")}: is docker login's own token, and is left out`,
    ],
  ],
  [
    { auths: { "a.io": good, [`${hub}access-token`]: { auth: 5 } } },
    [
      `!${hubKey("access-token")}.auth: not a string`,
      `${hubKey("access-token")}: is docker login's own token, and is left out`,
    ],
  ],
  [
    { auths: { "https://a.io": good, "http://a.io": good, "a.io": { auth: "djpx" } } },
    [
      '!auths["http://a.io"]: the same registry as "a.io", with another credential',
      'auths["https://a.io"]: the same registry and credential as "http://a.io"',
    ],
    [
      'auths["http://a.io"]: kept, but the same registry as "a.io", with another credential',
      'auths["https://a.io"]: the same registry and credential as "http://a.io"',
    ],
  ],
  [
    { auths: { "docker.io": good, "index.docker.io": { auth: "djpx" } } },
    ['auths["index.docker.io"]: is never tried: "docker.io" matches all its images first'],
  ],
  ...(
    [
      ["", "the registry is empty"],
      ["a.io/Team", "no image name can match this registry"],
      ["a.io:0", "the port is not a number from 1 to 65535 as in image names"],
    ] as const
  ).map(([key, what]) => {
    const path = `auths["${key}"]`;
    const auths = { [key]: good, "b.io": good };
    return [{ auths }, [`${path}: left out: ${what}`], [`${path}: kept, but ${what}`]] as const;
  }),
  ...(
    [
      ["a.io:05000", "the port is not a number from 1 to 65535 as in image names"],
      ["A.io", "capitals in the host match only images with the same capitals"],
      ["x".repeat(527), "the registry is too long"],
    ] as const
  ).map(([key, what]) => {
    const path = `auths["${key.length > 100 ? `${key.slice(0, 100)}…` : key}"]`;
    return [
      { auths: { [key]: good } },
      [`!${path}: ${what}`],
      [`${path}: kept, but ${what}`],
    ] as const;
  }),
  [
    { auths: { "A.io": good, "b.io": good } },
    ['auths["A.io"]: serves only images written with the same capitals or zeros'],
    ['auths["A.io"]: kept, but capitals in the host match only images with the same capitals'],
  ],
  // An original can have several credentials for Docker Hub.
  [
    {
      auths: {
        "*.io": { auth: auth("u:w") },
        "https://index.docker.io/v1/": { auth: auth("u:w") },
        "index.docker.io": { auth: auth("u:o") },
      },
    },
    [
      '!auths["index.docker.io"]: the same registry as "https://index.docker.io/v1/", with another credential',
      'auths["*.io"]: a wildcard',
      'auths["index.docker.io"]: is never tried: "*.io" matches all its images first',
    ],
    [
      'auths["*.io"]: a wildcard',
      'auths["index.docker.io"]: kept, but the same registry as "https://index.docker.io/v1/", with another credential',
      'auths["index.docker.io"]: is never tried: "*.io" matches all its images first',
    ],
  ],
  ...(
    [
      ["a.io:443", "matches only images written with :443"],
      ["*.a.io", "a wildcard"],
      ["a.io/v1", "is read as a repository path, not as the host"],
      ["hub.docker.com", "does not serve images of docker.io"],
      ["a.io/repository/x", "contains the path of a web page or an API, which no image name has"],
      ["http://u@a.io/x", 'is read as "a.io/x"', "[redacted]@a.io/x"],
    ] as const
  ).map(
    ([key, what, shown = key]) =>
      [{ auths: { [key]: good } }, [`auths["${shown}"]: ${what}`]] as const,
  ),
];

/**
 * Fields of the entry a.io, and its findings as above, each with its place below the entry. An
 * original keeps the entry or leaves it out, or has the same findings.
 */
const fieldFindings: readonly (readonly [
  entry: unknown,
  additional: readonly string[],
  original?: readonly string[],
])[] = [
  [null, ["!: not an object"], [": kept, but not an object"]],
  [[], ["!: not an object"]],
  [{ auth: "" }, ["!: no user name"], [": kept, but no user name"]],
  [{ auth: auth(":") }, ["!.auth: no user name"], [".auth: kept, but no user name"]],
  [{ auth: auth(":p") }, ["!.auth: no user name"], [".auth: kept, but no user name"]],
  [{ password: "p" }, ["!: no user name"], [": kept, but no user name"]],
  [{ ...good, email: 5, username: [] }, ["!.email: not a string", "!.username: not a string"]],
  [{ ...good, Password: "p" }, ["!.Password: must be spelled password"]],
  [{ "u\u017fername": "u" }, ['!["u\u017fername"]: must be spelled username']],
  [
    { ...good, pasword: "x", "a b": "x" },
    [".pasword: this field is dropped", '["a b"]: this field is dropped'],
  ],
  ...["identitytoken", "registrytoken"].flatMap(
    (token) =>
      [
        [
          { [token]: "t" },
          [`!: only ${token}, which the kubelet does not read`],
          [`: kept, but only ${token}, which the kubelet does not read`],
        ],
        [
          { [token]: "t", password: "p" },
          [
            `!: only ${token}, which the kubelet does not read`,
            "!: no user name",
            `.${token}: ${token} is dropped`,
          ],
          [
            `: kept, but only ${token}, which the kubelet does not read`,
            `.${token}: ${token} is dropped`,
            ": kept, but no user name",
          ],
        ],
        [{ ...good, [token]: "t" }, [`.${token}: ${token} is dropped`]],
        [
          { username: "u", [token]: "t" },
          [`.${token}: ${token} is dropped, and the password is empty`],
        ],
      ] as const,
  ),
  [
    { ...good, registrytoken: "t", identitytoken: "t" },
    [".identitytoken: identitytoken is dropped"],
  ],
  [{ username: "u" }, [": the password is empty"]],
  [{ auth: auth("u:") }, [".auth: the password is empty"]],
  [
    { username: "u:v", password: "p" },
    ["!.username: a colon in the user name"],
    [".username: left out: a colon in the user name"],
  ],
  [{ auth: "%" }, ["!.auth: not base64"]],
  [{ auth: auth("u") }, ["!.auth: no colon in the decoded text"]],
  ...["\xff:p", "u:\xff"].map(
    (pair) =>
      [
        { auth: Buffer.from(pair, "latin1").toString("base64") },
        ["!.auth: the decoded text is not UTF-8"],
        [".auth: left out: the decoded text is not UTF-8"],
      ] as const,
  ),
  ...(
    [
      ["u\t", "p", "user name"],
      ["u", "p\0", "password"],
    ] as const
  ).flatMap(([username, password, part]) =>
    inBothForms(username, password).map(
      ([entry, place]) =>
        [
          entry,
          [`!${place}: a control character in the ${part}`],
          [`${place}: kept, but a control character in the ${part}`],
        ] as const,
    ),
  ),
  ...(
    [
      [" u", "p", "white space around the user name"],
      ["u", "p\n", "white space around the password"],
      ["u", "${TOKEN}", "looks like a placeholder that no tool has replaced"],
      ["changeme", "p", "looks like a placeholder that no tool has replaced"],
    ] as const
  ).flatMap(([username, password, what]) =>
    inBothForms(username, password).map(
      ([entry, place]) => [entry, [`${place}: ${what}`]] as const,
    ),
  ),
  [{ ...good, username: "v", password: "p" }, [".auth: auth and username disagree"]],
  [{ ...good, username: "u", password: "q" }, [".auth: auth and password disagree"]],
  [
    { ...good, username: "v", password: "q" },
    [".auth: auth and username disagree", ".auth: auth and password disagree"],
  ],
];

/** The two ways to write a credential, and the place that its findings name. */
function inBothForms(username: string, password: string) {
  return [
    [{ username, password }, ""],
    [{ auth: auth(`${username}:${password}`) }, ".auth"],
  ] as const;
}

test("names the place and the words of every finding", () => {
  const ofEntries = fieldFindings.map(([entry, additional, original]) => {
    const below = (texts: readonly string[]) =>
      texts.map((text) => text.replace(/^!?/, '$&auths["a.io"]'));
    return [{ auths: { "a.io": entry } }, below(additional), original && below(original)] as const;
  });
  for (const [content, additional, original = additional] of [...findings, ...ofEntries]) {
    const text = typeof content === "string" ? content : JSON.stringify(content);
    for (const [role, expected] of Object.entries({ additional, original })) {
      const parsed = read(text, role as Role);
      const problems = parsed.ok ? [] : parsed.problems.map((found) => ["!", found] as const);
      const all = [...problems, ...parsed.warnings.map((found) => ["", found] as const)];
      const shown = all.map(([mark, { path, what }]) => `${mark}${path}: ${what}`);
      assert.deepEqual(shown, expected, `${role}: ${text.slice(0, 200)}`);
    }
  }
});

test("names all unused keys of Docker's file in one warning, and those of a refused file in none", () => {
  const unused = {
    HttpHeaders: {},
    plugins: {},
    currentContext: "x",
    "a b": 1,
    psFormat: "x",
    y: 1,
  };
  const auths = { "a.io": { auth: "dTpw" } };
  const parsed = read(JSON.stringify({ ...unused, auths, credsStore: "desktop", z: 1 }));
  assert.equal(verdict(parsed), "GPS179 GPS153");
  assert.equal(
    parsed.warnings[1]?.what,
    'merged without HttpHeaders, plugins, currentContext, ["a b"], psFormat and 2 more',
  );
  for (const refused of [auths, { ...unused, kind: "Secret", apiVersion: "v1" }, unused])
    assert.deepEqual(read(JSON.stringify(refused)).warnings, []);
});

/**
 * Entries that serve no image, each with the reason why a source with only this entry is refused.
 */
const useless: readonly (readonly [key: string, entry: unknown, code: string])[] = [
  ["a.io", null, "GPS109"],
  ["a.io", { auth: "" }, "GPS118"],
  ["a.io", { username: "", password: "", auth: "" }, "GPS118"],
  ["a.io", { username: null, auth: null }, "GPS118"],
  ["a.io", { auth: auth(":") }, "GPS118"],
  ["a.io", { identitytoken: "t" }, "GPS120"],
  ["a.io", { registrytoken: "t" }, "GPS120"],
  ["", { auth: "dTpw" }, "GPS121"],
  ["a".repeat(600), { auth: "dTpw" }, "GPS122"],
  ["a.io/Team", { auth: "dTpw" }, "GPS123"],
  ["a_b:5000", { auth: "dTpw" }, "GPS123"],
  ["[::ffff:10.0.0.1]:5000", { auth: "dTpw" }, "GPS123"],
  ["ftp://a.io", { auth: "dTpw" }, "GPS123"],
  ["a.io:0", { auth: "dTpw" }, "GPS125"],
];
for (const [key, entry, code] of useless)
  test(`F24, F32: leaves out a useless entry, ${code} ${key.slice(0, 30)} ${JSON.stringify(entry)}, only beside a good one`, () => {
    assert.equal(verdict(read(document(key, entry))), `!${code}`);
    const both = { [key]: entry, "good.io": { auth: "dTpw" } };
    const parsed = read(JSON.stringify({ auths: both }));
    assert.equal(verdict(parsed), "GPS169");
    assert.deepEqual(parsed.ok && parsed.entries.map(({ registry }) => registry), ["good.io"]);
    const original = read(JSON.stringify({ auths: both }), "original");
    assert.equal(verdict(original), "GPS163");
    assert.ok(original.ok && original.entries.length === 2, "an original keeps it");
  });

/** Keys that serve only images with the same capitals or zeros. Such images hardly exist. */
for (const [key, code] of [
  ["A.io", "GPS124"],
  ["myRegistry.azurecr.io/team", "GPS124"],
  ["[FC00::3]:5000", "GPS124"],
  ["Registry", "GPS124"],
  ["a.io:05000", "GPS125"],
] as const)
  test(`F20, F24: keeps ${key} beside a better entry, and refuses it alone`, () => {
    assert.equal(verdict(read(document(key))), `!${code}`);
    const auths = { [key]: { auth: "dTpw" }, "good.io": { auth: "dTpw" } };
    const parsed = read(JSON.stringify({ auths }));
    assert.equal(verdict(parsed), "GPS173");
    assert.equal(parsed.ok && parsed.entries.length, 2);
    assert.equal(verdict(read(document(key), "original")), "GPS163");
    const empty = { [key]: {}, "good.io": { auth: "dTpw" } };
    assert.equal(verdict(read(JSON.stringify({ auths: empty }))), "GPS166");
  });

test("without a better entry, refuses several useless entries, each with its reason", () => {
  const parsed = read('{"auths":{"A.io":{"auth":"dTpw"},"b.io":{"auth":""},"c.io":{}}}');
  assert.equal(verdict(parsed), "!GPS124 GPS118");
});

test("refuses a source because of an entry that hurts nodes, even under a useless registry", () => {
  const auths = { "A.io": { auth: "dTpw:" }, "good.io": { auth: "dTpw" } };
  assert.equal(verdict(read(JSON.stringify({ auths }))), "!GPS115");
});

/**
 * Mistakes that we can ask only the author of an additional source to correct. The nodes already
 * have the mistakes of an original.
 */
const defects: readonly (readonly [why: string, entry: unknown, code: string])[] = [
  ["a colon in the user name", { username: "u:x", password: "p" }, "!GPS131"],
  [
    "bytes that are not text",
    { auth: Buffer.from([0x75, 0x3a, 0xff]).toString("base64") },
    "!GPS117",
  ],
];
for (const [why, entry, code] of defects)
  test(`F52: an original leaves the entry out, an additional source is refused: ${why}`, () => {
    const auths = { "a.io": entry, "good.io": { auth: "dTpw" } };
    assert.equal(verdict(read(JSON.stringify({ auths }))), code);
    const original = read(JSON.stringify({ auths }), "original");
    assert.equal(verdict(original), "GPS169");
    assert.deepEqual(original.ok && original.entries.map(({ registry }) => registry), ["good.io"]);
  });

/**
 * The result for several spellings of one registry; the kubelet tries them all, in random order.
 */
const spelt: readonly (readonly [
  why: string,
  auths: Readonly<Record<string, unknown>>,
  kept: Readonly<Record<string, string>>,
  original: string,
  additional: string,
])[] = [
  [
    "two credentials",
    { "https://a.io": { auth: "dTpw" }, "a.io": { auth: "djpx" } },
    { "a.io": "djpx", "https://a.io": "dTpw" },
    "GPS163",
    "!GPS126",
  ],
  [
    "three credentials, none of them under the plain key",
    { "https://a.io": { auth: "dTpw" }, "a.io/v2/": { auth: "djpx" }, "u@a.io": { auth: "dzpy" } },
    { "a.io/v2/": "djpx", "https://a.io": "dTpw", "a.io": "dzpy" },
    "GPS157 GPS163 GPS163",
    "!GPS126 GPS126",
  ],
  [
    "one credential twice, which is written once",
    { "https://a.io": { auth: "dTpw" }, "a.io/v1/": { username: "u", password: "p" } },
    { "a.io": "dTpw" },
    "GPS161",
    "GPS161",
  ],
  [
    "one credential twice beside another",
    { "https://a.io": { auth: "dTpw" }, "http://a.io": { auth: "dTpw" }, "a.io": { auth: "djpx" } },
    { "a.io": "djpx", "http://a.io": "dTpw" },
    "GPS163 GPS161",
    "!GPS126",
  ],
  [
    "an entry with and an entry without a credential: perhaps only an anonymous pull works",
    { "a.io": {}, "https://a.io": { auth: "dTpw" } },
    { "a.io": "Og==", "https://a.io": "dTpw" },
    "GPS163 GPS163",
    "GPS166",
  ],
  [
    "keys that might contain a secret",
    {
      "u:p@a.io:5000/x": { auth: "dTpw" },
      "a.io:5000/x?y": { auth: "djpx" },
      "http://a.io:5000/v1/x": { auth: "dzpy" },
    },
    { "a.io:5000/x": "djpx", "https://a.io:5000/x": "dTpw", "http://a.io:5000/v1/x": "dzpy" },
    "GPS157 GPS157 GPS163 GPS163",
    "!GPS126 GPS126",
  ],
  [
    "a key that must be replaced, although another entry has the next spelling",
    { "a.io": { auth: "dTpw" }, "a@a.io": { auth: "djpx" }, "https://a.io": { auth: "dzpy" } },
    { "a.io": "dTpw", "http://a.io": "djpx", "https://a.io": "dzpy" },
    "GPS157 GPS163 GPS163",
    "!GPS126 GPS126",
  ],
  [
    "Docker Hub, as docker login writes it and without the path",
    { "https://index.docker.io/v1/": { auth: "dTpw" }, "index.docker.io": { auth: "djpx" } },
    { "https://index.docker.io/v1/": "dTpw", "index.docker.io": "djpx" },
    "GPS163",
    "!GPS126",
  ],
];
for (const [why, auths, expectedEntries, original, additional] of spelt)
  test(`F52: keeps every credential of an original for one registry, in any order: ${why}`, () => {
    const members = Object.entries(auths);
    for (const order of [members, members.toReversed()]) {
      const text = JSON.stringify({ auths: Object.fromEntries(order) });
      const parsed = read(text, "original");
      const codes = verdict(parsed).split(" ").toSorted();
      assert.deepEqual(codes, original.split(" ").toSorted());
      assert.ok(parsed.ok);
      const written = parsed.entries.map(({ registry, credential }) => [
        registry,
        credential.encode(),
      ]);
      assert.deepEqual(Object.fromEntries(written), expectedEntries);
      assert.equal(verdict(read(text)), additional);
    }
  });

test("F52: reports and leaves out a credential of an original if no spelling of the registry is left", () => {
  const auths = Object.fromEntries(
    Array.from({ length: 12 }, (_, at) => [`u${at}@a.io`, { auth: auth(`u:${at}`) }]),
  );
  const parsed = read(JSON.stringify({ auths }), "original");
  assert.ok(parsed.ok);
  assert.equal(parsed.entries.length, 9);
  const leftOut = parsed.warnings.filter(({ code }) => code === "GPS169");
  // Every user name is redacted, so all paths look the same.
  const what = `left out: the same registry as "[redacted]@a.io", with another credential`;
  assert.deepEqual(
    leftOut.map((warning) => `${warning.path}: ${warning.what}`),
    Array(3).fill(`auths["[redacted]@a.io"]: ${what}`),
  );
  for (const { registry } of parsed.entries) assert.equal(identity(registry), "a.io", registry);
});

/** Texts that a tool should have replaced, and texts that only resemble such a text. */
const placeholders: readonly (readonly [text: string, warned: boolean])[] = [
  ["<path:kv/data/x#user>:<path:kv/data/x#pw>", true],
  ["${USER}:${TOKEN}", true],
  ["u:$(TOKEN)", true],
  ["{{ .Values.user }}:{{ .Values.password }}", true],
  ["u:vault:secret/data/x#pw", true],
  ["u:>>vault:secret/data/x#pw", true],
  ["u:ref+vault://secret/x#/pw", true],
  ["u:ENC[AES256_GCM,data:x,type:str]", true],
  ["robot:$DOCKER_PASSWORD", true],
  ["robot:<TOKEN>", true],
  ["<your-user>:p", true],
  ["<no value>:<no value>", true],
  ["robot:%!s(<nil>)", true],
  ["robot:%!v(MISSING)", true],
  ["robot:<nil>", true],
  ["None:undefined", true],
  ["robot:null", true],
  ["robot:changeme", true],
  ['"robot":"s3cret"', true],
  ["robot:'s3cret'", true],
  ["$oauthtoken:nvapi-abc", false],
  ["robot:changeme2", false],
  ["nobody:nullable", false],
  ["robot:%s", false],
  ["robot:$A$B", false],
  ["robot:<a>", false],
  ["<u>:a&b", false],
  ["robot$team+pull:p", false],
  ['_json_key:{"a":{"b":{}}}', false],
  ["u:pa$$word", false],
  ["vault:secret/data/x#user:vault:secret/data/x#pw", true],
  ["vault:p", false],
  ["ci-vault:s3cr#t", false],
  ["u:vault:a#b", false],
  ["u:path:x", false],
];
for (const [text, warned] of placeholders)
  test(`F11: ${warned ? "warns of" : "accepts"} a credential such as ${text}`, () => {
    const [, username = "", password = ""] = /^([^:]*):(.*)$/.exec(text) ?? [];
    assert.equal(
      verdict(read(document("a.io", { auth: auth(text) }))),
      warned ? "GPS170" : "accept",
    );
    assert.equal(
      verdict(read(document("a.io", { username, password }))),
      warned ? "GPS170" : "accept",
    );
  });

/** Addresses that pages of registries show, and paths that images have. */
const paths: readonly (readonly [key: string, warned: boolean])[] = [
  ["https://a.example.com/artifactory/api/docker/docker-local", true],
  ["a.example.com/artifactory/api/docker/docker-local/v2/", true],
  ["https://nexus.example.com/repository/docker-hosted/", true],
  ["a.example.com/artifactory", false],
  ["a.example.com/docker-local", false],
  ["a.example.com/repository", false],
  ["a.example.com/team/repository/x", false],
];
for (const [key, warned] of paths)
  test(`F30: ${warned ? "warns of" : "accepts"} ${key}`, () =>
    assert.equal(/GPS171/.test(verdict(read(document(key)))), warned));

const inner = '{"auths":{"a.io":{"auth":"dTpw"}}}';
const manifest = (kind: string) =>
  `apiVersion: v1\nkind: ${kind}\ndata:\n  .dockerconfigjson: e30=\n`;
const mistaken: readonly (readonly [why: string, bytes: Bytes, code: string])[] = [
  ["base64", auth(inner), "GPS133"],
  ["base64 in lines", `${auth(inner).replace(/.{20}/g, "$&\n")}\n`, "GPS133"],
  ["base64 of something else", auth("u:p"), "GPS103"],
  ["a manifest in YAML", manifest("Secret"), "GPS130"],
  ["a manifest after a comment", `# x\n---\n${manifest('"Secret"')}`, "GPS130"],
  ["a manifest with a comment behind its kind", manifest("Secret # x"), "GPS130"],
  ["a manifest with CRLF", manifest("Secret").replaceAll("\n", "\r\n"), "GPS130"],
  ["a manifest among others", `${manifest("Namespace")}---\n${manifest("Secret")}`, "GPS130"],
  ["a manifest in JSON", '{"kind":"Secret","data":{}}', "GPS130"],
  ["a SealedSecret", manifest("SealedSecret"), "GPS135"],
  ["an ExternalSecret", `${manifest("ExternalSecret")}spec:\n  kind: Secret\n`, "GPS135"],
  ["a ClusterExternalSecret", manifest("'ClusterExternalSecret'"), "GPS135"],
  ["a SecretStore", manifest("SecretStore"), "GPS135"],
  ["a ConfigMap", manifest("ConfigMap"), "GPS135"],
  ["a list", `${manifest("List")}items:\n- kind: Secret\n`, "GPS135"],
  ["a list in JSON", '{"apiVersion":"v1","kind":"List","items":[{"kind":"Secret"}]}', "GPS135"],
  ["a line of dashes in a text", `${manifest("Secret")}note: a---b\ntype: Opaque\n`, "GPS130"],
  [
    "a SealedSecret in JSON",
    '{"apiVersion":"bitnami.com/v1alpha1","kind":"SealedSecret","spec":{"encryptedData":{}}}',
    "GPS135",
  ],
  ["another text with a kind", "kind: of\nmagic", "GPS103"],
  ["a .dockercfg", '{"https://index.docker.io/v1/":{"auth":"dTpw","email":"a@b.c"}}', "GPS134"],
  ["a .dockercfg with user and password", '{"a.io":{"username":"u","password":"p"}}', "GPS134"],
  ["a kind without a version", '{"kind":"List"}', "GPS110"],
  ["a version without a kind", '{"apiVersion":"v1"}', "GPS110"],
  ["a version that is a number", '{"apiVersion":1,"kind":"List"}', "GPS110"],
  ["a kind that is a list", '{"apiVersion":"v1","kind":["List"]}', "GPS110"],
  ["a version in YAML without a kind", "apiVersion: v1\nitems: []\n", "GPS103"],
  ["settings alone", '{"credsStore":"x","plugins":{"a":{"b":"c"}}}', "GPS110"],
];
for (const [why, bytes, code] of mistaken)
  test(`F06, F08, F09: names ${why} as ${code}`, () =>
    assert.ok(verdict(read(bytes)).split(/[! ]/).includes(code), verdict(read(bytes))));

test("F09: does not refer people to a manifest's .data if .data is missing or encrypted", () => {
  for (const kind of ["SealedSecret", "ExternalSecret", "Secretary"])
    for (const bytes of [manifest(kind), JSON.stringify({ apiVersion: "x/v1", kind, spec: {} })]) {
      const parsed = read(bytes);
      const line = formatProblem((!parsed.ok && parsed.problems[0]) || assert.fail());
      assert.match(line, /: a manifest, but not of a Secret; give a pull secret's JSON/);
      assert.doesNotMatch(line, /decode|data/);
    }
});

test("states what to do for a source without any entry left", () => {
  const parsed = read('{"auths":{"a.io":{},"b.io":{}}}');
  assert.ok(!parsed.ok);
  assert.deepEqual(parsed.problems.map(formatProblem), [
    'additional: auths["a.io"]: has no credential for a node, and no other entry has one; enter it with ' +
      "kubectl pull-secret add --password-stdin: a credential helper stores it elsewhere",
  ]);
});

test("judges a megabyte of any one text in linear time", () => {
  const most = 1_000_000;
  const fill = (text: string): string => text.repeat(Math.floor(most / text.length));
  const passwords = ["{{", "${", "vault:", "<path:", "$(a"].map((text) => `u:${fill(text)}`);
  const texts = [
    `${fill(" ")}!`,
    `${fill("=")}!`,
    ...passwords.map((pair) => document("a.io", { auth: auth(pair.slice(0, 700_000)) })),
  ];
  for (const text of texts) assert.notEqual(verdict(read(text)), "");
});
