import assert from "node:assert/strict";
import { test } from "node:test";
import { certificatesIn } from "./authority.ts";

const pem = (body: string) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`;
const of = (text: string) => certificatesIn(Buffer.from(text).toString("base64"));

test("an authority is the same however it is written, and no other one", () => {
  const plain = of(pem("QUJD\nREVG"));
  for (const text of [
    `# ours\n${pem("QUJDREVG")}`,
    pem("QUJD\r\nREVG").replaceAll("\n", "\r\n"),
    pem("QUJDREVG") + pem("QUJDREVG"),
  ])
    assert.equal(of(text), plain, text);
  assert.equal(of(pem("b25l") + pem("dHdv")), of(pem("dHdv") + pem("b25l")));
  for (const text of [pem("b25l"), pem("QUJDREVG") + pem("b25l"), "", "no certificate"])
    assert.notEqual(of(text), plain, text);
  assert.notEqual(of("one"), of("another"));
});
