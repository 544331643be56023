export type { Document, Operation, Result } from "./document.ts";
export {
  appendEntries,
  applyToEntries,
  type Entry,
  type Held,
  holdArrivals,
  type Split,
  splitArrivals,
  type TimelineEvent,
} from "./entries.ts";
export { FanfoldError, type GraphQLFailure } from "./error.ts";
export {
  createFanfold,
  type Fanfold,
  type FanfoldOptions,
  type RelationEvents,
  type Response,
  type TimelineEvents,
  type UserError,
} from "./fanfold.ts";
export { type Attempt, publishKey } from "./publishKey.ts";
export { expectRelation, isFollowing, isReversible, type RelationChange, type RelationState } from "./relation.ts";
export type { RelationEvent, RelationSource, Shown } from "./relations.ts";
export type { TokenSource } from "./session.ts";
export type { Connection, Sink } from "./socket.ts";
export { createStore, type Store, type WritableStore } from "./store.ts";
export type { CursorEvent, EventSink, TimelineSource, Watch } from "./timeline.ts";
export { localToken, memoryToken, type TokenStore } from "./token.ts";
