/** Turns an error of the API server into a line for the user. */
import type { ApiError } from "#kube/client/api-error.ts";

const advice: Readonly<Record<number, string>> = {
  0: "check --kubeconfig and --context, and that the API server can be reached from here",
  401: "log in again, or check --kubeconfig and --context",
  403: "ask for that right",
  409: "another client keeps changing this object; try again later",
  429: "the API server is busy; try again",
};

/** One line with the request, the answer, and what to do. */
export function explainApiError({ status, message }: ApiError): string {
  return `${message}; ${advice[status] ?? "correct the request, or try again"}`;
}
