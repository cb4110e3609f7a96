import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "#plugin/fake.fixture.ts";
import { codesPage } from "../terminal/codes-page.ts";
import { explanationOf } from "./code.ts";

test("prints what the page states about a code, without markup", () => {
  const page = [
    "# Every code",
    "## Agents",
    "Unless a code states another:",
    "**See**: the log\nof the agent.",
    "**Next**: It waits.",
    "**Do**: Nothing.",
    '### <a id="gps218"></a>GPS218: rolled \\_back\\_',
    "**Do**: Read `journalctl`, then [install\nagain](../use/install.md#x).",
    '### <a id="gps220"></a>GPS220: dead',
    "**Next**: It repairs it.",
    "## Controller",
  ].join("\n\n");
  assert.equal(
    explanationOf(page, "gps218"),
    "GPS218: rolled _back_\n\nSee: the log\nof the agent.\n\nNext: It waits.\n\nDo: Read journalctl, then install\nagain.\n",
  );
  assert.equal(
    explanationOf(page, "GPS220"),
    "GPS220: dead\n\nNext: It repairs it.\n\nSee: the log\nof the agent.\n\nDo: Nothing.\n",
  );
  assert.equal(explanationOf(page, "GPS999"), undefined);
});

test("suggests another version for an unknown code", async () => {
  const { code, err } = await call(["help", "GPS999"]);
  assert.equal(code, 2);
  assert.match(
    err,
    /^GPS999: is not a code of plugin .*; use the plugin of the controller's version/,
  );
});

test("explains every code of the page in labelled parts", () => {
  const page = codesPage();
  const codes = Array.from(page.matchAll(/<a id="(gps\d{3})">/g), ([, code = ""]) => code);
  assert.ok(codes.length > 200, String(codes.length));
  for (const code of codes) {
    assert.doesNotMatch(explanationOf(page, code) ?? "", /docs\//, "no checkout is at hand");
    assert.match(
      explanationOf(page, code) ?? "",
      /^GPS\d{3}: (?:[^…\n]*\n\n|.*\n\nExample:\s)(?=.*Next:\s)(?=.*See:\s).*\n\nDo:\s/s,
    );
  }
});
