/**
 * Reduces objects that another party wrote to the fields that we need. A hostile party can write
 * anything: 2 MiB of empty lists, for example, take 20 times as much memory when parsed. Valid
 * objects shrink too: managedFields are as long as a small Secret. Pure.
 */
import * as z from "zod/mini";
import { fieldsOf } from "#contract/fields.ts";

/** Maximum length of a text. Names in Kubernetes have at most 253 characters. */
const longest = 512;
/** Maximum number of items of a list. GlobalPullSecret's CRD allows at most 18. */
const most = 32;

// A field of another type counts as absent. Unknown fields are removed.
const optional = <Type extends z.ZodMiniType>(type: Type) => z.catch(z.optional(type), undefined);
const cut = z.transform((value) => (Array.isArray(value) ? value.slice(0, most) : undefined));

export const text = optional(z.string().check(z.maxLength(longest)));
export const number = optional(z.number());
export const truth = optional(z.boolean());
export const fields = <Shape extends z.core.$ZodShape>(shape: Shape) =>
  z.pipe(z.transform(fieldsOf), z.object(shape));
export const list = <Type extends z.ZodMiniType>(type: Type) =>
  z.pipe(cut, z.optional(z.array(type)));

/** Removes undefined fields at any depth. */
export const defined = <T>(value: object): T => JSON.parse(JSON.stringify(value)) as T;
