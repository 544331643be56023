/**
 * @generated SignedSource<<22878d1d8999a182c644c86fcb312204>>
 * @lightSyntaxTransform
 */

/* tslint:disable */
/* eslint-disable */
// @ts-nocheck

import type { ConcreteRequest } from 'relay-runtime';
export type RelationStatus = "FOLLOWER" | "FOLLOWING" | "MUTUAL" | "NONE" | "%future added value";
export type UserErrorCode = "BLOCKED" | "EXTERNAL_SIGN_IN" | "FOLLOW_LIMIT" | "IDEMPOTENCY_MISMATCH" | "INACTIVE" | "INVALID" | "INVITE_INVALID" | "LIST_LIMIT" | "MODERATOR" | "NOT_FOUND" | "NOT_YOURS" | "REGISTRATION_CLOSED" | "SELF" | "SUSPENDED" | "TAKEN" | "THROTTLED" | "TOO_LONG" | "TOO_SHORT" | "VISIBILITY" | "WRONG_CREDENTIALS" | "%future added value";
export type UnfollowInput = {
  userId: string;
};
export type documentsUnfollowMutation$variables = {
  input: UnfollowInput;
};
export type documentsUnfollowMutation$data = {
  readonly unfollow: {
    readonly relation: {
      readonly followingSince: string | null | undefined;
      readonly id: string;
      readonly requestedSince: string | null | undefined;
      readonly status: RelationStatus;
    } | null | undefined;
    readonly userErrors: ReadonlyArray<{
      readonly code: UserErrorCode;
      readonly message: string;
    }>;
  } | null | undefined;
};
export type documentsUnfollowMutation = {
  response: documentsUnfollowMutation$data;
  variables: documentsUnfollowMutation$variables;
};

const node: ConcreteRequest = (function(){
var v0 = [
  {
    "defaultValue": null,
    "kind": "LocalArgument",
    "name": "input"
  }
],
v1 = [
  {
    "alias": null,
    "args": [
      {
        "kind": "Variable",
        "name": "input",
        "variableName": "input"
      }
    ],
    "concreteType": "UnfollowPayload",
    "kind": "LinkedField",
    "name": "unfollow",
    "plural": false,
    "selections": [
      {
        "alias": null,
        "args": null,
        "concreteType": "Relation",
        "kind": "LinkedField",
        "name": "relation",
        "plural": false,
        "selections": [
          {
            "alias": null,
            "args": null,
            "kind": "ScalarField",
            "name": "id",
            "storageKey": null
          },
          {
            "alias": null,
            "args": null,
            "kind": "ScalarField",
            "name": "status",
            "storageKey": null
          },
          {
            "alias": null,
            "args": null,
            "kind": "ScalarField",
            "name": "followingSince",
            "storageKey": null
          },
          {
            "alias": null,
            "args": null,
            "kind": "ScalarField",
            "name": "requestedSince",
            "storageKey": null
          }
        ],
        "storageKey": null
      },
      {
        "alias": null,
        "args": null,
        "concreteType": "UserError",
        "kind": "LinkedField",
        "name": "userErrors",
        "plural": true,
        "selections": [
          {
            "alias": null,
            "args": null,
            "kind": "ScalarField",
            "name": "code",
            "storageKey": null
          },
          {
            "alias": null,
            "args": null,
            "kind": "ScalarField",
            "name": "message",
            "storageKey": null
          }
        ],
        "storageKey": null
      }
    ],
    "storageKey": null
  }
];
return {
  "fragment": {
    "argumentDefinitions": (v0/*:: as any*/),
    "kind": "Fragment",
    "metadata": null,
    "name": "documentsUnfollowMutation",
    "selections": (v1/*:: as any*/),
    "type": "Mutation",
    "abstractKey": null
  },
  "kind": "Request",
  "operation": {
    "argumentDefinitions": (v0/*:: as any*/),
    "kind": "Operation",
    "name": "documentsUnfollowMutation",
    "selections": (v1/*:: as any*/)
  },
  "params": {
    "cacheID": "671ebdf52603eabe71a9073fd587fb6d",
    "id": null,
    "metadata": {},
    "name": "documentsUnfollowMutation",
    "operationKind": "mutation",
    "text": "mutation documentsUnfollowMutation(\n  $input: UnfollowInput!\n) {\n  unfollow(input: $input) {\n    relation {\n      id\n      status\n      followingSince\n      requestedSince\n    }\n    userErrors {\n      code\n      message\n    }\n  }\n}\n"
  }
};
})();

(node as any).hash = "de1d04e01bd89ff4cfc153e7e83c1771";

export default node;
