/** The four words of the template (R40). */
export type AnnounceStatus = 'success' | 'error' | 'timeout' | 'unknown';

export type NewAnnouncement = {
  readonly id: string;
  readonly status: AnnounceStatus;
  readonly result: string;
  readonly notes: string;
  readonly stats: string;
  /** Not before: an announce step may still put it into better words. */
  readonly readyAtMs: number;
};

/** `skipped`: the sub-agent had nothing to say. `dismissed`: the person dropped it unread. */
export type AnnounceState = 'pending' | 'leased' | 'acked' | 'skipped' | 'dismissed';

export type Announcement = Omit<NewAnnouncement, 'readyAtMs'> & {
  readonly runId: string;
  readonly turn: number;
  readonly number: number;
  readonly label: string | null;
  readonly requester: string;
  readonly requesterSession: string | null;
  readonly state: AnnounceState;
  readonly createdAtMs: number;
  /** It was handed out before, and nobody said that it arrived. */
  readonly isRedelivery: boolean;
  readonly attempts: number;
};
