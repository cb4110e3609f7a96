import assert from "node:assert/strict";
import { test } from "node:test";
import { goModFor } from "./kubernetes.ts";

const kubernetes = `// generated
module k8s.io/kubernetes

go 1.24.0

godebug default=go1.24

require (
	github.com/google/cel-go v0.23.2
	k8s.io/api v0.0.0
	k8s.io/klog/v2 v2.130.1
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
)
`;

test("takes Kubernetes' own modules from their published versions, and keeps all other versions", () => {
  const goMod = goModFor("1.33.13", kubernetes);
  assert.match(goMod, /^module global-pull-secret\/kubernetes$/m);
  assert.match(goMod, /\n\tk8s\.io\/api v0\.33\.13\n\tk8s\.io\/klog\/v2 v2\.130\.1\n/);
  assert.match(goMod, /\n\tgithub\.com\/google\/cel-go v0\.23\.2\n/);
  assert.match(goMod, /^godebug default=go1\.24$/m);
  assert.doesNotMatch(goMod, /replace|staging/);
  assert.match(goMod, /\nrequire k8s\.io\/kubernetes v1\.33\.13\n$/);
});
