-- Health of a GlobalPullSecret or a FleetSecret for Argo CD: README.md beside this file says where it goes.
-- Argo CD gives it no library but base, package and table.

-- The object is kept while something else still needs it.
if obj.metadata.deletionTimestamp ~= nil then
  return { status = "Progressing", message = "is being deleted" }
end

-- What status says is of an older spec, or nobody has looked yet (-1).
local status = obj.status or {}
if status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "the controller has not read this spec yet" }
end

-- By type: their order means nothing.
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end

local stalled = conditions.Stalled
if stalled ~= nil and stalled.status == "True" then
  -- Somebody meant it: Suspended is Argo CD's word for it, as for a paused Deployment.
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
-- Some clusters of a FleetSecret refuse it, and nothing else is on the way.
local reconciling = conditions.Reconciling
if reconciling ~= nil and reconciling.status == "False" then
  return { status = "Degraded", message = ready.message }
end
return { status = "Progressing", message = ready.message }
