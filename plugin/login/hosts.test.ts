import assert from "node:assert/strict";
import { test } from "node:test";
import { hostToAsk, schemesOf } from "./login.ts";

const hosts: readonly (readonly [key: string, host: string | undefined])[] = [
  ["quay.io", "quay.io"],
  ["quay.io/team/app", "quay.io"],
  ["https://registry.example:5000/v2/", "registry.example:5000"],
  ["[::1]:5000", "[::1]:5000"],
  ["https://index.docker.io/v1/", "registry-1.docker.io"],
  ["docker.io/team", "registry-1.docker.io"],
  ["*.example.com", undefined],
];
for (const [key, host] of hosts)
  test(`uses ${host ?? "no host"} for ${key}`, () => assert.equal(hostToAsk(key), host));

const routes: readonly (readonly [host: string, schemes: string])[] = [
  ["quay.io", "https"],
  ["quay.io:80", "https"],
  ["plain.example", "https"],
  ["localhost:5000", "https,http"],
  ["127.0.0.1:5000", "https,http"],
  ["127.9.8.7", "https,http"],
  ["[::1]:5000", "https,http"],
  ["127.0.0.1.example", "https"],
  ["localhost.example", "https"],
];
for (const [host, schemes] of routes)
  test(`contacts ${host} over ${schemes}`, () => assert.equal(schemesOf(host).join(), schemes));
