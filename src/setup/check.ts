/** One thing that `doctor` looked at. */
export type Check = {
  readonly name: string;
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  /** What the user can do about it. */
  readonly remedy?: string;
};

export function ok(name: string, detail: string): Check {
  return { name, status: 'ok', detail };
}

export function warning(name: string, detail: string, remedy: string): Check {
  return { name, status: 'warning', detail, remedy };
}

export function failed(name: string, detail: string, remedy: string): Check {
  return { name, status: 'failed', detail, remedy };
}

export function skipped(name: string, detail: string): Check {
  return { name, status: 'skipped', detail };
}
