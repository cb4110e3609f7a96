/** Readers of flag values: the value, or what is wrong with it and what to give instead. */
import { identity } from "../pullsecret/registry.ts";

export class Wrong {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

export function text(value: string): string | undefined {
  return value === "" ? undefined : value;
}

export function oneOf<const Choice extends string>(...choices: readonly Choice[]) {
  return (value: string): Choice | Wrong =>
    choices.find((choice) => choice === value) ?? new Wrong(`is none of the choices; give ${choices.join(", ")}`);
}

export function integer(least: number, most: number) {
  return (value: string): number | Wrong => {
    const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
    return number >= least && number <= most ? number : new Wrong(`is no whole number from ${least} to ${most}`);
  };
}

/** `10%` stays text, as Kubernetes writes it; `3` becomes a number. */
export function budget(value: string): number | string | Wrong {
  const [, digits, percent] = /^(\d{1,6})(%?)$/.exec(value) ?? [];
  const number = Number(digits);
  if (percent === "%" && number >= 1 && number <= 100) return `${number}%`;
  if (percent === "" && number >= 1) return number;
  return new Wrong("is neither a number of nodes from 1 nor a percentage from 1% to 100%");
}

/** As a budget, and 0 besides. */
export function failures(value: string): number | string | Wrong {
  if (/^0%?$/.test(value)) return 0;
  const result = budget(value);
  return result instanceof Wrong ? new Wrong("is neither a number of nodes nor a percentage from 0% to 100%") : result;
}

const dnsName = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

export function secretReference(value: string): { namespace: string; name: string } | undefined | Wrong {
  if (value === "") return undefined;
  const [namespace = "", name = "", ...more] = value.split("/");
  if (more.length === 0 && dnsName.test(namespace) && dnsName.test(name)) return { namespace, name };
  return new Wrong("is not NAMESPACE/NAME of a Secret; give one such as kube-system/pull-secret");
}

/** `auto`, or systemd's own alphabet for unit names, 255 characters at most; only services can be restarted into health. */
export function unit(value: string): string | Wrong {
  if (value === "auto" || (/^[A-Za-z0-9:_.\\@-]+\.service$/.test(value) && value.length <= 255)) return value;
  return new Wrong("is no systemd service; give auto, or one such as kubelet.service");
}

export function directory(value: string): string | Wrong {
  const tidy = value.startsWith("/") && value !== "/" && !/\/\/|\/$|(^|\/)\.\.?(\/|$)|[:\0]/.test(value);
  return tidy ? value : new Wrong("is no absolute path of a directory without . and .. in it");
}

/** Seconds. */
export function duration(value: string): number | Wrong {
  const [, number, unit] = /^([1-9]\d{0,5})(s|m|h)$/.exec(value) ?? [];
  if (number === undefined) return new Wrong("is no duration; give one such as 90s, 10m or 2h");
  return Number(number) * { s: 1, m: 60, h: 3600 }[unit as "s" | "m" | "h"];
}

/** Seconds; `0s` is none. */
export function pause(value: string): number | Wrong {
  return value === "0s" ? 0 : duration(value);
}

/** Registries as the merge can protect them; one that it cannot would refuse every merge from then on. */
export function registry(value: string): string | Wrong {
  if (value.trim() === "") return new Wrong("is empty; give a registry such as quay.io");
  return identity(value) === undefined
    ? new Wrong("is no registry; name it as image names have it, such as quay.io")
    : value;
}

/** An empty host means every address; IPv6 is written in brackets. */
export function address(value: string): { host: string; port: number } | Wrong {
  const { v6, host, port } =
    /^(?:\[(?<v6>[0-9a-fA-F:.]+)\]|(?<host>[^:]*)):(?<port>\d{1,5})$/.exec(value)?.groups ?? {};
  if (port === undefined || Number(port) > 65535) return new Wrong("is no HOST:PORT; give one such as :8080");
  return { host: v6 ?? host ?? "", port: Number(port) };
}
