/** The controller's own annotations. */

/** Annotations that remember what cannot be read off the objects themselves. */
export const annotations = {
  /**
   * On global-pull-secret: `false` until the first grant, then `true`. Only with `false` may a
   * removal delete everything without asking the nodes.
   */
  rolled: "globalpullsecret.io/rolled",
  /**
   * On global-pull-secret: the revision under which every node has given back its entries. A
   * removal may then delete.
   */
  released: "globalpullsecret.io/released",
  /** On global-pull-secret: when its newest content was published. */
  published: "globalpullsecret.io/published",
  /**
   * On the DaemonSet's template: digest of the rest of the template, which tells pods of an upgrade
   * from older ones.
   */
  template: "globalpullsecret.io/template",
  /** On the DaemonSet's template: the delivery mode. Pods without it take no grants. */
  mode: "globalpullsecret.io/mode",
} as const;
