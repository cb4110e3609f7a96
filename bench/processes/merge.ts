/**
 * The largest document through the pure code, against the least that reading and writing JSON
 * costs.
 */
import { canonical, sourcesOf } from "#pullsecret/merge/canonical.ts";
import { merge } from "#pullsecret/merge/merge.ts";
import { parse } from "#pullsecret/document/parse.ts";
import type { Measurement } from "../result/bench.ts";
import { largeDocument } from "../testbed/objects.ts";
import { compare } from "../result/result.ts";
import { interleave } from "../result/rounds.ts";

/** Document and `sources` together may have 1 MiB, which a merge checks. */
const largest = 980_000;

export const mergeLarge: Measurement = {
  name: "merge",
  run: async () => {
    const bytes = Buffer.from(largeDocument(1000, largest, 1));
    const timed = (work: () => number) => async () => {
      const begun = performance.now();
      if (work() === 0) throw new Error("nothing came out");
      return performance.now() - begun;
    };
    const ours = timed(() => {
      const additional = parse(bytes, { name: "additional", role: "additional" });
      if (!additional.ok) throw new Error("refused");
      const merged = merge([{ id: "additional", accepted: additional }], {
        conflicts: "additional",
        protect: [],
      });
      if (!merged.ok) throw new Error("refused");
      return canonical(merged).length + Object.keys(sourcesOf(merged)).length;
    });
    const theirs = timed(() => JSON.stringify(JSON.parse(bytes.toString("utf8"))).length);
    // Of 30, most would be rounds in which V8 still compiles.
    const pairs = await interleave(100, ours, theirs);
    const against = "JSON.parse + JSON.stringify";
    return [
      compare({ name: "merge, 1,000 entries of 1 MiB", unit: "ms", against, atMost: 4 }, pairs),
    ];
  },
};
