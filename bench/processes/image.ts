/** What has to be downloaded: the image above its base, and the bundles in it. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { buildImage } from "#test/cluster/kit/image.ts";
import type { Measurement } from "../result/bench.ts";
import { measure } from "../result/result.ts";

type Manifest = { layers: { size: number }[] };
type Index = { manifests: { digest: string }[] };
const kibibyte = 1024;

export const image: Measurement = {
  name: "image",
  run: async (bench) => {
    const { cluster } = await bench.real(1);
    const { base } = cluster.kit.images;
    const index = JSON.parse(readFileSync(join(base, "index.json"), "utf8")) as Index;
    const digest = index.manifests[0]?.digest.replace(":", "/") ?? "";
    const below = JSON.parse(readFileSync(join(base, "blobs", digest), "utf8")) as Manifest;
    const [, name = "", tag = ""] = /\/(.*):(.*)$/.exec(await buildImage(cluster)) ?? [];
    const ask = async (reference: string) => {
      const url = `http://${cluster.registry.publicAddress}/v2/${name}/manifests/${reference}`;
      const types = ["index", "manifest"].map((one) => `application/vnd.oci.image.${one}.v1+json`);
      const answer = await fetch(url, { headers: { accept: types.join() } });
      return (await answer.json()) as Manifest & Index;
    };
    // Of one architecture, this machine's.
    const [one] = (await ask(tag)).manifests;
    const { layers } = await ask(one?.digest ?? "");
    const above = layers.slice(below.layers.length).reduce((sum, { size }) => sum + size, 0);
    const size = (bundle: string) =>
      statSync(join(import.meta.dirname, `../../dist/${bundle}.cjs`)).size / kibibyte;
    return [
      measure({ name: "image above its base", unit: "KiB", atMost: 1024 }, [above / kibibyte]),
      measure({ name: "image, agent bundle", unit: "KiB", atMost: 400 }, [size("agent")]),
      measure({ name: "image, controller bundle", unit: "KiB" }, [size("controller")]),
    ];
  },
};
