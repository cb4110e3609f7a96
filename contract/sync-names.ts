/** What is granted to the two sides of SyncSecret, and where. */

/** On a namespace of the management cluster: it is a tenant's, whatever the value. */
export const tenantLabel = "globalpullsecret.io/tenant";

/** The account of the management side, in kube-system of the management cluster. */
export const managementAccount = "global-pull-secret-sync-management";

/** The account of the tenant's side, in the tenant's namespace of the management cluster. */
export const tenantAccount = "global-pull-secret-sync-tenant";
