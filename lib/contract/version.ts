/** The version of the product, as an agent reports it. */
import manifest from "../../package.json" with { type: "json" };

export const { version } = manifest;
