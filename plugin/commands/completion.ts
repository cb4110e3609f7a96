/** `completion`: prints the program that kubectl's own completion runs for this command. */
import { command } from "../terminal/command.ts";

/** kubectl finds the program by its name (kubernetes/kubernetes#105867). */
const name = "kubectl_complete-pull_secret";

export const completion = command(
  {
    group: "local",
    what: "print the program with which kubectl's own completion completes this command",
    example: "",
    more:
      `Write the output to an executable file on the PATH, named ${name}. kubectl's\n` +
      "completion for bash, zsh and fish then completes commands, flags, contexts and\n" +
      "registries.",
    flags: {},
  },
  (_, io) => {
    io.out('#!/bin/sh\nexec kubectl pull-secret __complete "$@"\n');
    return Promise.resolve(0);
  },
);
