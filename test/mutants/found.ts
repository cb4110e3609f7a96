/** Which of its test files have to find a breakage. */

/** Whether the file's tests need a cluster or a bundle, and minutes. */
export const isReal = (file: string) => file.startsWith("test/");

/**
 * Those of the files that should have found a breakage and did not. Tests beside the sources cost
 * seconds, so each listed one must. Of those under test/ the first that does is enough.
 */
export async function missedBy(
  files: readonly string[],
  finds: (file: string) => Promise<boolean>,
): Promise<readonly string[]> {
  const green: string[] = [];
  for (const file of files)
    if (!(await finds(file))) green.push(file);
    else if (isReal(file)) return [];
  return green;
}
