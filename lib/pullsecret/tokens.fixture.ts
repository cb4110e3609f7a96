/** For tests: what tokens look like. All are made up; none was ever issued. */
import { Buffer } from "node:buffer";

const hex = "0f3b9c4d5e6a7b8c9d0e1f2a3b4c5d6e";
const mixed = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5";

/** Twenty shapes of tokens. Each token is a credential, wherever it appears. */
export const tokens: readonly string[] = [
  ["ghp", mixed].join("_"),
  ["ghs", mixed].join("_"),
  ["github", "pat", "11ABCDE", mixed].join("_"),
  ["glpat", mixed.slice(0, 20)].join("-"),
  ["gldt", mixed.slice(0, 20)].join("-"),
  ["glcbt", "64", mixed.slice(0, 20)].join("-"),
  ["dckr", "pat", mixed.slice(0, 27)].join("_"),
  ["dckr", "oat", mixed.slice(0, 27)].join("_"),
  ["dop", "v1", hex, hex].join("_"),
  ["dop", "v1", "S3cret"].join("_"),
  `AKIA${mixed.toUpperCase().slice(0, 16)}`,
  `AIza${mixed.slice(0, 35)}`,
  `ya29.${mixed}`,
  ["npm", mixed].join("_"),
  `hvs.${mixed}`,
  `AKCp8${mixed}${mixed.slice(0, 32)}`,
  `cmVmdGtu${mixed}`,
  `eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ${mixed.slice(0, 9)}.${mixed}`,
  hex,
  mixed,
];

/** The tokens that begin with their issuer's prefix, so that we recognise them in any text. */
export const marked = tokens.slice(0, 18);

/**
 * Documents with the token in every place where a person might put it, and the texts that no output
 * is allowed to contain.
 */
export function planted(
  token: string,
): Readonly<{ documents: readonly string[]; secrets: readonly string[] }> {
  const auth = (pair: string) => Buffer.from(pair).toString("base64");
  const pairs = [`${token}:${token}`, `${token}:`, `${token}:another`, `robot:${token}`];
  const entries = [
    ...pairs.map((pair, at) => [`${at}.io`, { auth: auth(pair) }] as const),
    ["u.io", { username: token, password: token }],
    ["v.io", { username: `team+${token}`, password: token, email: token, note: token }],
    [
      "w.io",
      { auth: auth(`robot:${token}`), username: token, password: "x", identitytoken: token },
    ],
    ["x.io", { identitytoken: token }],
    [`${token}@y.io`, { auth: auth(pairs[0] ?? "") }],
    [`robot:${token}@z.io`, { auth: auth(pairs[0] ?? "") }],
    ...(marked.includes(token) ? [[`z.io/${token}`, { auth: auth(pairs[0] ?? "") }] as const] : []),
  ] as const;
  const good = JSON.stringify({ auths: Object.fromEntries(entries) });
  const refused = [
    JSON.stringify({ auths: { ...Object.fromEntries(entries), "bad.io": { auth: token } } }),
    JSON.stringify({ auths: { [`robot:${token}`]: { username: `${token}:x`, password: token } } }),
    JSON.stringify({ auths: { "a.io": token, "b.io": { password: [token] } } }),
    JSON.stringify({ "a.io": { auth: auth(pairs[0] ?? ""), username: token } }),
    `{"auths":{"a.io":{"username":"${token}`,
    token,
    auth(good),
  ];
  return { documents: [good, ...refused], secrets: [token, ...pairs.map(auth)] };
}

/** User names of robots and service accounts, which people need to see. */
export const names: readonly string[] = [
  "robot$team+pull",
  "_json_key",
  "_json_key_base64",
  "oauth2accesstoken",
  "$oauthtoken",
  "AWS",
  "00000000-0000-0000-0000-000000000000",
  "gitlab+deploy-token-7",
  "gitlab-ci-token",
  "openshift-release-dev+ocm_access_1",
  "|uhc-pool-1",
  "1|svc",
  "jane.doe@example.com",
  "iamapikey",
  "serviceaccount",
  "ServiceAccountOfTheBuildTeam",
];
