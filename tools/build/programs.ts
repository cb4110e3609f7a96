/**
 * Entry of dist/programs.cjs: the programs of our image that call an API server. They share one
 * file, so that the image holds the API client once. The plugin is there for the chart's uninstall.
 */
export const programs: Readonly<Record<string, () => Promise<unknown>>> = {
  controller: () => import("#controller/main.ts"),
  fleet: () => import("#fleet/main.ts"),
  "sync-tenant": () => import("#tenants/tenant.ts"),
  "sync-management": () => import("#tenants/management.ts"),
  plugin: () => import("#plugin/main.ts"),
};
