/** A refusal of the API server, in words that are safe to log. */
import type { ResponseContext } from "@kubernetes/client-node";
import { TooLarge } from "./answer-bytes.ts";

type Refusal = Readonly<{
  /** HTTP status; 0 when there was no answer. */
  status: number;
  /** The API's own reason: NotFound, Conflict, Forbidden … */
  reason: string;
  method: string;
  path: string;
  detail?: string;
  retryAfterSeconds?: number;
  /** An admission policy or webhook denied the request. */
  denied?: boolean;
}>;

/** A denial by our own policies (tools/install/bounds.ts, lib/contract/joined.ts). */
const ownDenial =
  /^secrets "[^"]*" is forbidden: ValidatingAdmissionPolicy 'global-pull-secret-(?:objects|(?:joined|fleet)-secrets)' with binding '[^']*' denied request: /;

/** The kubeconfig gives no credential, so no request was sent. */
export class NoCredential extends Error {}

/** The reason of an answer that is larger than allowed. */
const tooLarge = "TooLarge";

export class ApiError extends Error {
  readonly status: number;
  readonly reason: string;
  /** The server's message, at most 500 characters, or why there was no answer. */
  readonly detail: string | undefined;
  /** Seconds that the server requested by Retry-After (429, 503); undefined without that header. */
  readonly retryAfterSeconds: number | undefined;
  /**
   * True when a webhook or an admission policy denied the request. The webhook or policy chooses
   * the status: 403, 422, 500, 409, 404 and 429 occur.
   */
  readonly isDenial: boolean;

  constructor(refusal: Refusal) {
    const detail = refusal.detail ? `: ${refusal.detail}` : "";
    super(
      `${refusal.method} ${refusal.path}: ${refusal.status || "no answer"} ${refusal.reason}${detail}`,
    );
    this.status = refusal.status;
    this.reason = refusal.reason;
    this.detail = refusal.detail;
    this.retryAfterSeconds = refusal.retryAfterSeconds;
    this.isDenial = refusal.denied === true;
  }

  /**
   * True if the server refused before it did anything (429). After a 5xx, or without an answer, the
   * write might have taken effect.
   */
  get didNothing(): boolean {
    return this.status === 429;
  }

  /**
   * The message without the server's text, for places where people who do not administer that
   * server read it. If there was no answer, the message is our own text, and is complete.
   */
  get bare(): string {
    if (this.status === 0 || this.detail === undefined) return this.message;
    return this.message.slice(0, -`: ${this.detail}`.length);
  }

  /** True if an answer arrived that is larger than allowed. */
  get tooLarge(): boolean {
    return this.status === 0 && this.reason === tooLarge;
  }

  /**
   * The error for a refusal. It leaves out the server's message for Secrets and SyncSecrets: a
   * decoder's error quotes the bytes around the fault, and a schema's error quotes the value. Both
   * can contain credentials. The messages of our own policies are kept: of a Secret, they quote
   * only the keys of labels and annotations. `isPublic`: the request contained no credential.
   */
  static from(
    method: string,
    path: string,
    response: ResponseContext,
    body: string,
    isPublic = false,
  ): ApiError {
    const parsed = readStatus(body);
    const isQuotable = isPublic || !/\/(?:sync)?secrets/.test(path);
    const { message = "" } = parsed;
    const after = Number(response.headers["retry-after"]);
    return new ApiError({
      status: response.httpStatusCode,
      // We use the reason only if it is a single word, as the API defines. The server might belong
      // to a tenant, who can write any text as the reason.
      reason: /^[A-Za-z]{1,64}$/.exec(parsed.reason ?? "")?.[0] ?? "Refused",
      method,
      path,
      ...(message !== "" && (isQuotable || ownDenial.test(message))
        ? { detail: message.slice(0, 500) }
        : {}),
      denied: /denied (?:the )?request/.test(message),
      ...(after > 0 ? { retryAfterSeconds: Math.min(after, 60) } : {}),
    });
  }
}

/**
 * The error if the answer never came, was incomplete or was too large, or if the request has no
 * usable credential.
 */
export function unreachable(method: string, path: string, error: unknown): ApiError {
  // If the kubeconfig runs a command for its credential, that command's error can have any length,
  // and several lines.
  const detail = problemOf(error).trim().replaceAll(/\s+/g, " ").slice(0, 500);
  const reason = reasonOf(error);
  return new ApiError({ status: 0, reason, method, path, detail });
}

/**
 * If this process has reached its limit of open files, it cannot open a connection. The error must
 * not blame the cluster for that.
 */
function reasonOf(error: unknown): string {
  if (error instanceof TooLarge) return tooLarge;
  if (error instanceof NoCredential) return "NoCredential";
  if (!(error instanceof Error)) return "Unreachable";
  if ("code" in error && (error.code === "EMFILE" || error.code === "ENFILE"))
    return "TooManyOpenFiles";
  return error.cause === undefined ? "Unreachable" : reasonOf(error.cause);
}

/**
 * The innermost cause of a failed fetch, whose own message is only "fetch failed". The JSON
 * parser's message is left out, because it quotes the answer.
 */
function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  if (error instanceof SyntaxError) return "the answer is not JSON";
  // The message of Node.js quotes the certificate's names, and a server can put any text there.
  if ("code" in error && error.code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return "its certificate is for another name";
  return error.cause instanceof Error ? problemOf(error.cause) : error.message;
}

type StatusBody = Readonly<{ reason?: string | undefined; message?: string | undefined }>;

function readStatus(body: string): StatusBody {
  try {
    const parsed = JSON.parse(body) as { reason?: unknown; message?: unknown } | null;
    const text = (value: unknown) => (typeof value === "string" ? value : undefined);
    return { reason: text(parsed?.reason), message: text(parsed?.message) };
  } catch {
    return {};
  }
}
