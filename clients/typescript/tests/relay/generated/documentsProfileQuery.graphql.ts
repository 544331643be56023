/**
 * @generated SignedSource<<e40a55c49d0729daaa0bb0b942857340>>
 * @lightSyntaxTransform
 */

/* tslint:disable */
/* eslint-disable */
// @ts-nocheck

import type { ConcreteRequest } from 'relay-runtime';
export type RelationStatus = "FOLLOWER" | "FOLLOWING" | "MUTUAL" | "NONE" | "%future added value";
export type documentsProfileQuery$variables = {
  id: string;
};
export type documentsProfileQuery$data = {
  readonly node: {
    readonly __typename: string;
    readonly id: string;
    readonly isPrivate?: boolean;
    readonly relation?: {
      readonly followingSince: string | null | undefined;
      readonly id: string;
      readonly requestedSince: string | null | undefined;
      readonly status: RelationStatus;
    } | null | undefined;
  } | null | undefined;
};
export type documentsProfileQuery = {
  response: documentsProfileQuery$data;
  variables: documentsProfileQuery$variables;
};

const node: ConcreteRequest = (function(){
var v0 = [
  {
    "defaultValue": null,
    "kind": "LocalArgument",
    "name": "id"
  }
],
v1 = {
  "alias": null,
  "args": null,
  "kind": "ScalarField",
  "name": "id",
  "storageKey": null
},
v2 = [
  {
    "alias": null,
    "args": [
      {
        "kind": "Variable",
        "name": "id",
        "variableName": "id"
      }
    ],
    "concreteType": null,
    "kind": "LinkedField",
    "name": "node",
    "plural": false,
    "selections": [
      {
        "alias": null,
        "args": null,
        "kind": "ScalarField",
        "name": "__typename",
        "storageKey": null
      },
      (v1/*:: as any*/),
      {
        "kind": "InlineFragment",
        "selections": [
          {
            "alias": null,
            "args": null,
            "kind": "ScalarField",
            "name": "isPrivate",
            "storageKey": null
          },
          {
            "alias": null,
            "args": null,
            "concreteType": "Relation",
            "kind": "LinkedField",
            "name": "relation",
            "plural": false,
            "selections": [
              (v1/*:: as any*/),
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
          }
        ],
        "type": "User",
        "abstractKey": null
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
    "name": "documentsProfileQuery",
    "selections": (v2/*:: as any*/),
    "type": "Query",
    "abstractKey": null
  },
  "kind": "Request",
  "operation": {
    "argumentDefinitions": (v0/*:: as any*/),
    "kind": "Operation",
    "name": "documentsProfileQuery",
    "selections": (v2/*:: as any*/)
  },
  "params": {
    "cacheID": "405a46858a15e4de859353d874394bfe",
    "id": null,
    "metadata": {},
    "name": "documentsProfileQuery",
    "operationKind": "query",
    "text": "query documentsProfileQuery(\n  $id: ID!\n) {\n  node(id: $id) {\n    __typename\n    id\n    ... on User {\n      isPrivate\n      relation {\n        id\n        status\n        followingSince\n        requestedSince\n      }\n    }\n  }\n}\n"
  }
};
})();

(node as any).hash = "32c5d37db738895fd94c6a05e3335d2f";

export default node;
