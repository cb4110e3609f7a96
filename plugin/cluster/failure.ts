/** What the API server refused, in words for whoever called a command. */
import type { ApiError } from "#kube/client/api-error.ts";

const advice: Readonly<Record<number, string>> = {
  0: "check --kubeconfig and --context, and that the API server can be reached from here",
  401: "log in again, or check --kubeconfig and --context",
  403: "ask for that right, or use --as",
  409: "somebody else writes it again and again; try later",
  429: "the API server is busy; try again",
};

/** One line: what was asked, what came, what to do. */
export function tellApiError({ status, message }: ApiError): string {
  return `${message}; ${advice[status] ?? "correct what it says, or try again"}`;
}
