/**
 * @generated SignedSource<<e67d66c26d08572a5c40e1666852eb85>>
 * @lightSyntaxTransform
 */

/* tslint:disable */
/* eslint-disable */
// @ts-nocheck

import type { ConcreteRequest } from 'relay-runtime';
export type RelationStatus = "FOLLOWER" | "FOLLOWING" | "MUTUAL" | "NONE" | "%future added value";
export type UserErrorCode = "BLOCKED" | "EXTERNAL_SIGN_IN" | "FOLLOW_LIMIT" | "IDEMPOTENCY_MISMATCH" | "INACTIVE" | "INVALID" | "INVITE_INVALID" | "LIST_LIMIT" | "MODERATOR" | "NOT_FOUND" | "NOT_YOURS" | "REGISTRATION_CLOSED" | "SELF" | "SUSPENDED" | "TAKEN" | "THROTTLED" | "TOO_LONG" | "TOO_SHORT" | "VISIBILITY" | "WRONG_CREDENTIALS" | "%future added value";
export type FollowInput = {
  userId: string;
};
export type documentsFollowMutation$variables = {
  input: FollowInput;
};
export type documentsFollowMutation$data = {
  readonly follow: {
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
export type documentsFollowMutation = {
  response: documentsFollowMutation$data;
  variables: documentsFollowMutation$variables;
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
    "concreteType": "FollowPayload",
    "kind": "LinkedField",
    "name": "follow",
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
    "name": "documentsFollowMutation",
    "selections": (v1/*:: as any*/),
    "type": "Mutation",
    "abstractKey": null
  },
  "kind": "Request",
  "operation": {
    "argumentDefinitions": (v0/*:: as any*/),
    "kind": "Operation",
    "name": "documentsFollowMutation",
    "selections": (v1/*:: as any*/)
  },
  "params": {
    "cacheID": "aa735aa3ef434562fae85b422d6175a1",
    "id": null,
    "metadata": {},
    "name": "documentsFollowMutation",
    "operationKind": "mutation",
    "text": "mutation documentsFollowMutation(\n  $input: FollowInput!\n) {\n  follow(input: $input) {\n    relation {\n      id\n      status\n      followingSince\n      requestedSince\n    }\n    userErrors {\n      code\n      message\n    }\n  }\n}\n"
  }
};
})();

(node as any).hash = "d0580eccc798feff0fd09297359c8586";

export default node;
