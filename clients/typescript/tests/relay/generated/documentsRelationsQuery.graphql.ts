/**
 * @generated SignedSource<<c6ba2d8ea68c00bf0bee91c69df99577>>
 * @lightSyntaxTransform
 */

/* tslint:disable */
/* eslint-disable */
// @ts-nocheck

import type { ConcreteRequest } from 'relay-runtime';
export type RelationStatus = "FOLLOWER" | "FOLLOWING" | "MUTUAL" | "NONE" | "%future added value";
export type documentsRelationsQuery$variables = {
  userIds: ReadonlyArray<string>;
};
export type documentsRelationsQuery$data = {
  readonly relations: ReadonlyArray<{
    readonly followingSince: string | null | undefined;
    readonly id: string;
    readonly requestedSince: string | null | undefined;
    readonly status: RelationStatus;
  } | null | undefined> | null | undefined;
};
export type documentsRelationsQuery = {
  response: documentsRelationsQuery$data;
  variables: documentsRelationsQuery$variables;
};

const node: ConcreteRequest = (function(){
var v0 = [
  {
    "defaultValue": null,
    "kind": "LocalArgument",
    "name": "userIds"
  }
],
v1 = [
  {
    "alias": null,
    "args": [
      {
        "kind": "Variable",
        "name": "userIds",
        "variableName": "userIds"
      }
    ],
    "concreteType": "Relation",
    "kind": "LinkedField",
    "name": "relations",
    "plural": true,
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
  }
];
return {
  "fragment": {
    "argumentDefinitions": (v0/*:: as any*/),
    "kind": "Fragment",
    "metadata": null,
    "name": "documentsRelationsQuery",
    "selections": (v1/*:: as any*/),
    "type": "Query",
    "abstractKey": null
  },
  "kind": "Request",
  "operation": {
    "argumentDefinitions": (v0/*:: as any*/),
    "kind": "Operation",
    "name": "documentsRelationsQuery",
    "selections": (v1/*:: as any*/)
  },
  "params": {
    "cacheID": "c724c2866e579fc6121d586d120c1e6b",
    "id": null,
    "metadata": {},
    "name": "documentsRelationsQuery",
    "operationKind": "query",
    "text": "query documentsRelationsQuery(\n  $userIds: [ID!]!\n) {\n  relations(userIds: $userIds) {\n    id\n    status\n    followingSince\n    requestedSince\n  }\n}\n"
  }
};
})();

(node as any).hash = "4a4a73cac3943689ceb299d091556536";

export default node;
