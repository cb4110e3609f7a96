/** What is granted to the two sides of SyncSecret, and where. */

/** On a namespace of the management cluster: it is a tenant's, whatever the value. */
export const tenantLabel = "globalpullsecret.io/tenant";

/** The account of the management side, in kube-system of the management cluster. */
export const managementAccount = "global-pull-secret-sync-management";

/** The account of the tenant's side, in the tenant's namespace of the management cluster. */
export const tenantAccount = "global-pull-secret-sync-tenant";

/** The Secret beside that account which its tokens are bound to: without it they are void. */
export const tenantBound = `${tenantAccount}-token`;

/** In kube-system of the tenant's cluster: the Secret with the kubeconfig of that account. */
export const managementSecret = "global-pull-secret-sync-management";

/** Key of the kubeconfig in that Secret. */
export const kubeconfigKey = "kubeconfig";
