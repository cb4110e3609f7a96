/** A connection to a cluster whose API server may be anybody's, and what it may cost. */
import { connect } from "#kube/client/client.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { Access } from "#kube/kubeconfig/access.ts";
import { kubeConfigOf } from "#kube/remote.ts";

/** Seconds that a guest may take for an answer. One that takes longer counts as away. */
const answerSeconds = 10;

/**
 * Most bytes of an answer, and of a line of a watch. etcd takes objects of 1.5 MiB, and base64
 * makes a third more of them: no list of one object is longer.
 */
const largestAnswer = 2 * 1024 * 1024;

/**
 * What the watch of one object may send. A GlobalPullSecret's status has one event a second while
 * its nodes change, of 100 KiB where there are hundreds; a Secret has next to none. At once comes
 * what was saved up in 10 s, or two objects as large as may be. To read a MiB of the worst costs
 * 80 ms of a processor, so that a cluster which sends all that it may costs a fiftieth of one.
 */
export const bounds = {
  events: { perSecond: 2, atOnce: 20 },
  bytes: { perSecond: 256 * 1024, atOnce: 2 * largestAnswer },
};

export const connectTo = (access: Access): Cluster =>
  connect(kubeConfigOf(access), () => {}, {
    manager: fleetManager,
    seconds: answerSeconds,
    largest: largestAnswer,
    fixed: true,
  });

/**
 * Milliseconds between two readings of a kubeconfig whose connection works, give or take a fifth:
 * for so long one is used that was replaced, deleted or is granted no more. No watch tells, which
 * would need a right to list Secrets. A thousand clusters make three reads a second.
 */
const readMilliseconds = 300_000;

/** When a kubeconfig that was read at `now` is to be read again. */
export const staleAt = (now: number): number =>
  now + readMilliseconds * (0.8 + 0.4 * Math.random());

export const fleetManager = "global-pull-secret-fleet";
