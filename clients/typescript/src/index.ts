export { applicationToken } from "./applicationToken.js";
export type { Document, Operation, Result } from "./document.js";
export {
  appendEntries,
  applyToEntries,
  type Entry,
  type Held,
  holdArrivals,
  type Split,
  splitArrivals,
  type TimelineEvent,
} from "./entries.js";
export { FanfoldError, type GraphQLFailure } from "./error.js";
export {
  createFanfold,
  type Fanfold,
  type FanfoldOptions,
  type RelationEvents,
  type Response,
  type TimelineEvents,
  type UserError,
} from "./fanfold.js";
export { type Attempt, publishKey } from "./publishKey.js";
export { expectRelation, isFollowing, isReversible, type RelationChange, type RelationState } from "./relation.js";
export type { RelationEvent, RelationSource } from "./relations.js";
export { createShown, type Shown } from "./shown.js";
export type { Session } from "./session.js";
export type { Connection, Sink } from "./socket.js";
export { createStore, type Store, type WritableStore } from "./store.js";
export type { CursorEvent, EventSink, TimelineSource, Watch } from "./timeline.js";
export { localToken, memoryToken, type TokenStore } from "./token.js";
