/** `add`: puts the credential for one registry into a source's Secret. */
import { Buffer, isUtf8 } from "node:buffer";
import { toggle } from "#contract/values.ts";
import { quote } from "#pullsecret/problems/keypath.ts";
import { clusterFlags, sourceFlag, waitFor } from "../cluster/flags.ts";
import { peekObject, sourceSecret } from "../cluster/object.ts";
import { rewrite } from "../document/rewrite.ts";
import { protectionOf } from "../document/verdict.ts";
import { command } from "../terminal/command.ts";
import { Misuse, Refused, type FileIo, type ScreenIo } from "../terminal/io.ts";
import { registry } from "../document/operands.ts";

/** Maximum number of bytes of a password. A Secret has at most 1 MiB for all entries together. */
const longestPassword = 512 * 1024;

export const add = command(
  {
    group: "change",
    what: "add or replace the credential of one registry",
    example: "quay.io -u robot --password-stdin < token",
    more:
      "Writes the Secret only if the controller's rules accept it, and if no other client has changed\n" +
      "it in the meantime. Creates the Secret if it does not exist. Asks for the password on a\n" +
      "terminal, or reads it from standard input without a line break at the end.",
    flags: {
      REGISTRY: {
        read: registry,
        from: "operand",
        required: true,
        what: "a registry as images name it, HOST, HOST:PORT or HOST/PATH",
      },
      username: { read: String, required: true, short: "u", what: "the user or robot account" },
      "password-stdin": { ...toggle, what: "read the password from standard input" },
      ...sourceFlag,
      ...clusterFlags,
    },
    rules: [({ username = "" }) => wrongUser(username)],
  },
  async ({ REGISTRY, username, source, "password-stdin": piped, ...how }, io) => {
    const login = { username, password: await (piped ? readPassword : promptPassword)(io) };
    const cluster = await io.reach(how);
    const object = await peekObject(cluster);
    const { secret } = sourceSecret(object, source);
    const protection = protectionOf(object);
    const done = await rewrite(cluster, { secret, registry: REGISTRY, login, protection });
    for (const line of done.warnings) io.err(line);
    const what = done.did === "nothing" ? "has this credential already" : "credential added";
    io.out(`${secret}: ${quote(REGISTRY)}: ${what} (registries: ${done.entries})\n`);
    io.out(`${waitFor(source)}\n`);
    return 0;
  },
);

/**
 * The problem with a user name, if there is one. The text does not quote the name, because people
 * sometimes type the password in its place.
 */
function wrongUser(username: string): string | undefined {
  if (username.includes(":"))
    return "--username: has a colon, which ends the name in a pull secret; give only the user name";
  // Node.js puts this character in place of bytes of the command line that are not UTF-8.
  return username.includes("\ufffd") ? "--username: is not UTF-8; give it as UTF-8" : undefined;
}

/**
 * Asks on the terminal. Throws Misuse if there is no terminal, and Refused if the user gives up.
 */
async function promptPassword(io: ScreenIo): Promise<string> {
  if (io.askPassword === undefined)
    throw new Misuse(
      "--password-stdin: is missing; other users can see a password in a command line",
    );
  const password = await io.askPassword("Password");
  if (password === undefined || password === "") throw new Refused("no password; nothing is done");
  // Node.js puts this character in place of bytes that are not UTF-8.
  if (password.includes("\ufffd"))
    throw new Misuse("password: is not UTF-8; type it in a terminal that uses UTF-8");
  return password;
}

/**
 * Reads the password from standard input, without the line break at its end. Throws Misuse if the
 * input is not text.
 */
async function readPassword(io: FileIo): Promise<string> {
  const bytes = await io.read("-", longestPassword);
  // We check the length before the encoding, because the input can be cut in the middle of a
  // character, and half a character is not UTF-8.
  if (bytes.length > longestPassword) throw new Misuse("--password-stdin: longer than 512 KiB");
  if (!isUtf8(bytes)) throw new Misuse("--password-stdin: is not UTF-8; give it as UTF-8");
  // We do not use a TextDecoder here, because it drops a byte order mark.
  const password = Buffer.from(bytes)
    .toString("utf8")
    .replace(/\r?\n$/, "");
  if (password === "")
    throw new Misuse("--password-stdin: standard input is empty; give a password");
  return password;
}
