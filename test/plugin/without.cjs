/** Removes globals, and members of globals, by their paths. */
module.exports = (newer) => {
  const globals = Object.fromEntries(
    Object.keys(newer).map((path) => [path.split(".")[0], globalThis[path.split(".")[0]]]),
  );
  for (const [path, names] of Object.entries(newer)) {
    const holder = path
      .split(".")
      .reduce((value, name) => value?.[name], { ...globals, globalThis });
    for (const name of holder === undefined ? [] : names) delete holder[name];
  }
};
