/** Stands at the beginning of every prompt of our own analysis, so that its sessions are never taken for the user's. */
export const ANALYSIS_MARK = 'self-generation-analysis';
