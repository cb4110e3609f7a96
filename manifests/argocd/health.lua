-- The health of a GlobalPullSecret or FleetSecret for Argo CD. README.md explains how to install it.
-- Argo CD provides only the Lua libraries base, package and table.

-- A finalizer still keeps the object.
if obj.metadata.deletionTimestamp ~= nil then
  return { status = "Progressing", message = "is being deleted" }
end

-- Status describes an older spec, or the controller has not read the object yet (-1).
local status = obj.status or {}
if status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "the controller has not read this spec yet" }
end

-- The conditions by type, because their order has no meaning.
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end

local stalled = conditions.Stalled
if stalled ~= nil and stalled.status == "True" then
  -- A user has paused the object. Argo CD also reports a paused Deployment as Suspended.
  if stalled.reason == "Paused" then
    return { status = "Suspended", message = stalled.message }
  end
  return { status = "Degraded", message = stalled.message }
end

local ready = conditions.Ready
if ready == nil then
  return { status = "Progressing", message = "the controller has not said anything yet" }
end
if ready.status == "True" then
  return { status = "Healthy", message = ready.message }
end
if ready.reason == "Paused" then
  return { status = "Suspended", message = ready.message }
end
-- Some clusters of a FleetSecret refuse the Secret, and no other cluster is changing.
local reconciling = conditions.Reconciling
if reconciling ~= nil and reconciling.status == "False" then
  return { status = "Degraded", message = ready.message }
end
return { status = "Progressing", message = ready.message }
