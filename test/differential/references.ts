/**
 * Random registry keys and image references. Some are usual, and others are texts that URL parsers
 * read differently.
 */
import { words, type Random } from "../random.ts";

const hosts = [
  "",
  ...words(
    "a.io b.a.io quay.io docker.io index.docker.io registry-1.docker.io localhost A.io Q 10.0.0.1 *.io * " +
      "*.* a*.io *a.io *.a.io docker.* *.docker.io q*y.io *a* [::1] [fe80::1%25en0] [::A] [fe80::1%2525a-z] " +
      "[::ffff:1.2.3.4] [zz] [1.2.3.4] ::1 a.io. a..io -a.io a_b.io bücher.io b%C3%BCcher.io a%41.io team " +
      "x!y.io a^b.io [ab].io a.io[ 1:2:3 [::1 [1:2] a\\.io a<b>.io a.io%zz",
  ),
];
const ports = ["", "", "", "", ":5000", ":443", ":", ":*", ":05000", ":99999", ":x", ":5000:1"];
const paths = [
  "",
  "",
  "",
  "",
  ...words(
    "/ /v1/ /v2/ /v1 /v2 /foo /foo/ /foo/bar /foob /v1/foo /v2/v1/foo /v1/v1/ //x /../x /* /%66oo " +
      "/%2566oo /%2Fx /foo%3Fx /foo%23x /% /%zz /%00 /f\u00f6 /library /Foo",
  ),
];
const schemes = [
  "",
  "",
  "",
  "https://",
  "http://",
  "HTTPS://",
  "ftp://",
  "//",
  "https:",
  "https://https://",
];
const users = ["", "", "", "", "", "", "user@", "u:p@", "u%41@", "u%@", "u s@", "a@b@"];
const tails = [
  "",
  "",
  "",
  "",
  "",
  "",
  "?",
  "?x=%zz",
  "#",
  "#f",
  "#%zz",
  "#\u0001",
  "\u0001",
  " ",
  "\u007f",
];

const usual = words(
  "a.io a.io a.io/foo a.io/foo/bar *.io quay.io docker.io https://index.docker.io/v1/ a.io:5000 " +
    "localhost https://a.io/v2/ http://a.io docker.io/library",
);

/** Keys as docker login writes them, and hosts as users write them. */
const meant = words(
  "https://a.io/v1 https://index.docker.io/v1 https://index.docker.io/v1/access-token",
);

/** A random registry key. Every second key is a usual key. */
export function randomKey(random: Random): string {
  if (random.once(2)) return random.pick(usual);
  if (random.once(20)) return random.pick(meant);
  const plain = random.pick(hosts) + random.pick(ports) + random.pick(paths);
  if (random.once(2)) return plain;
  return random.pick(schemes) + random.pick(users) + plain + random.pick(tails);
}

const imageHosts = [
  "",
  "",
  ...words(
    "a.io/ b.a.io/ quay.io/ docker.io/ index.docker.io/ registry-1.docker.io/ localhost/ A.io/ Q/ A/ " +
      "a.io:5000/ a.io:443/ [::1]:5000/ [::1]/ [1:2]/ 10.0.0.1:5000/ team/ x.y.z:1/ a_b.io/ -a.io/ " +
      "index.docker.io:443/",
  ),
];
const imageNames = [
  "",
  "a".repeat(256),
  ...words(
    "x foo foo/bar foo/bar/x foobar/x foob library/x v1/foo/x v2/x v1/v1/x a__b a--b a..b Foo a//b f\u00f6",
  ),
];
const hex = "0123456789abcdef".repeat(8);
const imageTails = [
  "",
  "",
  `:${"t".repeat(129)}`,
  `:1@sha256:${hex.slice(0, 64)}`,
  `@SHA256:${hex.slice(0, 64)}`,
  ...[32, 63, 64, 96, 128].flatMap((length) =>
    words("md5 sha256 sha384 sha512").map((name) => `@${name}:${hex.slice(0, length)}`),
  ),
  ...words(":1 : :v1.2_3-x :-x @ @sha256:"),
];

const usualHosts = words("a.io a.io a.io:5000 quay.io docker.io localhost team");
const usualNames = words("/foo /foo/bar /foo/bar:1 /foobar/x /x");

/** A random image reference. Two of three references are usual. */
export function randomImage(random: Random): string {
  if (!random.once(3)) return random.pick(usualHosts) + random.pick(usualNames);
  if (random.once(100)) return hex.slice(0, 64);
  return random.pick(imageHosts) + random.pick(imageNames) + random.pick(imageTails);
}
