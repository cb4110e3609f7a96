/** Ages in kubectl's format. Pure. */

/**
 * The age, as in kubectl's column AGE (duration.HumanDuration of apimachinery). While the first
 * unit is small, the age has two units, such as 5m10s. 0s for a future time. Empty for a text that
 * is not a time.
 */
export function age(at: string, now: number): string {
  const milliseconds = now - Date.parse(at);
  if (Number.isNaN(milliseconds)) return "";
  return span(Math.max(0, Math.floor(milliseconds / 1000)));
}

/** Formats a number of seconds as kubectl does. */
export function span(seconds: number): string {
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
  const [days, years] = [Math.floor(hours / 24), Math.floor(hours / 24 / 365)];
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return pair(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  if (hours < 8) return pair(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  if (days < 8) return pair(days, "d", hours % 24, "h");
  if (days < 730) return `${days}d`;
  return years < 8 ? pair(years, "y", days % 365, "d") : `${years}y`;
}

const pair = (many: number, unit: string, few: number, small: string): string =>
  few === 0 ? `${many}${unit}` : `${many}${unit}${few}${small}`;
