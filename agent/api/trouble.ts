/** Reports that the API stays out of reach. Short troubles, such as a restart, are not reported. */

/** Kinds of the agents' catalogue. `objectless`: the node has no NodePullSecret. */
export type TroubleKind = "apiSilent" | "apiUnauthorized" | "apiForbidden" | "objectless";

/** `detail`: a request and a status or a code of the system; never text from the server. */
export type ApiTrouble = Readonly<{ kind: TroubleKind; detail: string }>;
