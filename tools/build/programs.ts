/**
 * Entry of dist/programs.cjs: the programs of our image that call an API server. They share one
 * file, so that the image contains the API client only once. The chart's uninstall runs the plugin.
 */
export const programs: Readonly<Record<string, () => Promise<unknown>>> = {
  controller: () => import("#controller/main.ts"),
  fleet: () => import("#fleet/main.ts"),
  "sync-tenant": () => import("#tenants/tenant.ts"),
  "sync-management": () => import("#tenants/management.ts"),
  plugin: () => import("#plugin/main.ts"),
};
