/** Explains to people what the kubelet would do with a file for an image. */
import { readAsKubelet } from "./kubelet.ts";
import { redactKey } from "../problems/keypath.ts";
import { inOrder, match } from "./match.ts";
import { problem, type Problem } from "../problems/problems.ts";
import { shownUser } from "../problems/token.ts";
import { repositoryOf } from "../registry/image.ts";

export type Explanation = Readonly<{
  image: string;
  /**
   * In the kubelet's order: those of the same number in one that it draws each time it reads the
   * file.
   */
  tries: readonly Readonly<{ registry: string; username: string; order: number }>[];
  /** Every other entry of the file. */
  ignored: readonly Readonly<{ registry: string; reason: string }>[];
}>;

/**
 * Which credentials of a file the kubelet would try for an image. Answers for any bytes; when the
 * kubelet drops the whole file nothing is tried, and `dropped` says why. Holds no password, nor a
 * user name that serves as one. `undefined`: the image is no valid reference.
 */
export function explain(
  bytes: Uint8Array,
  image: string,
  source: string,
): { explanation: Explanation; dropped?: Problem } | undefined {
  const repository = repositoryOf(image);
  if (repository === undefined) return undefined;
  const file = readAsKubelet(bytes);
  if (!file.ok) {
    const dropped = problem(file.kind, source, file.path);
    const reason = `the kubelet drops the whole file: ${file.path}: ${dropped.what}`;
    const ignored = file.keys.map((key) => ({ registry: redactKey(key), reason }));
    return { explanation: { image, tries: [], ignored }, dropped };
  }
  const { tries, ignored } = match(file.entries, repository);
  return {
    explanation: {
      image,
      tries: inOrder(tries).map(({ key, username, password, order }) => ({
        registry: redactKey(key),
        username: shownUser(username.toString("utf8"), password.toString("utf8")),
        order,
      })),
      ignored: ignored.map(({ key, reason }) => ({ registry: redactKey(key), reason })),
    },
  };
}
