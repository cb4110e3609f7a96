/** Two actions of an agent: restart its machine's kubelet, and end its own container. */
import { checkRestart } from "./laws.ts";
import { between, log, type Machine, type Message, type World } from "./world.ts";

export function restartKubelet(w: World, m: Machine, why: string): void {
  checkRestart(w, m, why);
  log(w, `${m.name} restarts its kubelet: ${why}`);
  // After a failure the agent is allowed to try the same content again.
  if (why === "restore") m.restarts = [];
  m.restarts.push(why);
  m.kubelet = false;
  m.kubeletBack = w.t + between(w, 1, 2);
}

/** Ends the agent's container. The kubelet starts it again with a growing delay. */
export function exit(w: World, m: Machine, message: Omit<Message, "journal">): void {
  log(w, `${m.name} ends its container: ${message.kind} ${message.key}`);
  // A crash replaces the agent's termination message, which also reports the journal. Therefore the
  // next process writes the agent's message again.
  const isCrash = message.kind === "crash";
  if (isCrash && m.journal) m.journal.said = "";
  m.message = { ...message, journal: isCrash ? 0 : (m.journal?.rev ?? 0) };
  m.running = false;
  m.exits = w.t - m.lastExit > 600 ? 0 : m.exits + 1;
  m.startAt = w.t + (m.exits === 0 ? 1 : Math.min(300, 5 * 2 ** m.exits));
  m.lastExit = w.t;
}
