/** Asks real registries, as the controller and `check --login` do. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Credential } from "#pullsecret/document/auth.ts";
import { askAll } from "#registry/ask.ts";
import { planOf, questionsOf, verdictsOf } from "#registry/question.ts";
import { temporary } from "../temporary.ts";
import { startBasic, startToken, type Accounts } from "./distribution.ts";

const accounts: Accounts = {
  team: { password: "t3am", repositories: ["team/app"] },
  nobody: { password: "n0body", repositories: [] },
};

/** `login` and `pull` for a user with this password: the answers about the entry and the image. */
async function answersOf(host: string, user: string, password: string, image = "team/app:1") {
  const entry = { registry: host, credential: new Credential(user, password) };
  const answer = async (images: readonly string[]) => {
    const plan = planOf([entry], images);
    const answers = await askAll(questionsOf(plan));
    return verdictsOf(plan, (question) => answers.get(question));
  };
  const login = (await answer([])).entries.get(entry);
  const [pull] = (await answer([`${host}/${image}`])).images;
  return [login?.answer, pull?.answer];
}

test("a registry with Basic accepts the right password, denies a wrong one, and hides nothing", async (t) => {
  await using registry = await startBasic(temporary(t), accounts);
  await registry.push("team/app");
  const { host } = registry;
  assert.deepEqual(await answersOf(host, "team", "t3am"), ["Accepted", "Accepted"]);
  assert.deepEqual(await answersOf(host, "team", "wrong"), ["Denied", "Denied"]);
  assert.deepEqual(await answersOf(host, "team", "t3am", "other:1"), ["Accepted", "Unknown"]);
});

test("a registry with a token service denies a pull to an account that may only log in", async (t) => {
  await using registry = await startToken(temporary(t), accounts);
  await registry.push("team/app");
  const { host } = registry;
  assert.deepEqual(await answersOf(host, "team", "t3am"), ["Accepted", "Accepted"]);
  assert.deepEqual(await answersOf(host, "nobody", "n0body"), ["Accepted", "Denied"]);
  assert.deepEqual(await answersOf(host, "nobody", "wrong"), ["Denied", "Denied"]);
});
