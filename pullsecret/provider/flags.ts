/**
 * The kubelet's two flags that name the provider, and the one line of kubeadm's file that gives a
 * kubelet its arguments. Pure.
 *
 * What we put there is a text of its own within the line, so that taking it out again leaves the
 * file byte for byte as it was, whatever others have done to the rest.
 */
import { kubeadmDirectory, providerFiles } from "#contract/names.ts";

const prefix = "--image-credential-provider-";
/** The file, not its directory: a kubelet below 1.34 given a directory does not start. */
const config = `${prefix}config=${kubeadmDirectory}/${providerFiles.config}`;
const bin = `${prefix}bin-dir=${kubeadmDirectory}/${providerFiles.bin}`;
/** In kubeadm's order: an upgrade of it sorts the line, and must leave our text one text. */
const ours = `${bin} ${config}`;

const line = /^KUBELET_KUBEADM_ARGS="(.*)"[ \t]*$/gm;

/** `with`, `without`: whether ours are there. `why`: ours must not be put there. */
export type Flags = "with" | "without" | Readonly<{ why: string }>;

/** What the file says of a provider. It names no value: arguments may hold anything. */
export function flagsIn(text: string): Flags {
  const [first] = text.matchAll(line);
  const assigned = text.match(/^\s*(?:export\s+)?KUBELET_KUBEADM_ARGS\s*=/gm) ?? [];
  if (first === undefined || assigned.length !== 1)
    return { why: "kubeadm-flags.env has not exactly one line KUBELET_KUBEADM_ARGS" };
  const others = (first[1] ?? "").replace(ours, "");
  if (others.includes(prefix))
    return { why: "kubeadm-flags.env names a credential provider already" };
  if (others.endsWith("\\")) return { why: "kubeadm-flags.env has a line that goes on" };
  return first[1] === others ? "without" : "with";
}

/** The file with our flags, last in its line. */
export function withFlags(text: string): string {
  return text.replace(line, (whole, given: string) =>
    whole.replace(`"${given}"`, () => `"${given === "" ? ours : `${given} ${ours}`}"`),
  );
}

/** The file as it was before them. */
export function withoutFlags(text: string): string {
  return text.replace(` ${ours}`, "").replace(`${ours} `, "").replace(ours, "");
}

/**
 * What a running process was told, by its command line as systemd shows it. `none`: of no provider.
 * The last of its name counts, in either form.
 */
export function toldOf(command: string): "ours" | "none" | "another" {
  const last = (name: string) =>
    [...command.matchAll(new RegExp(`${prefix}${name}[= ](\\S+)`, "g"))].at(-1)?.[1];
  const told = [last("config"), last("bin-dir")].map((value) => value?.replace(/["']$/, ""));
  if (told.every((value) => value === undefined)) return "none";
  const wanted = [config, bin].map((flag) => flag.slice(flag.indexOf("=") + 1));
  return told.every((value, at) => value === wanted[at]) ? "ours" : "another";
}
