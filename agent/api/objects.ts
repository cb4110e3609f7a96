/** Reads the objects that the API server sends, and writes the status of a NodePullSecret. Pure. */
import type { Order, Report } from "#contract/order.ts";

/** The node's NodePullSecret. Undefined: nothing was asked, or nothing was reported. */
export type Own = Readonly<{ uid: string; order: Order | undefined; report: Report | undefined }>;
