/** Deliberate breakages of sealed sources. */
import { sealed } from "./sealed.ts";
import { tryEach } from "./trial.ts";

tryEach(sealed);
