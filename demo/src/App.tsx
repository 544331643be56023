// The root component: the current page for a signed-in user, otherwise the sign-in page.

import { usePlace } from "./navigation/location";
import { routeOf } from "./navigation/routes";
import { session } from "./session/session";
import { SignedIn } from "./session/SignedIn";
import { SignInPage } from "./session/SignInPage";
import { Page } from "./shell/Page";
import { Shell } from "./shell/Shell";
import { useStore } from "./ui/store";

export function App() {
  const { token } = useStore(session.store);
  const { path } = usePlace();
  if (token === null) return <SignInPage />;
  return (
    <SignedIn key={token} token={token}>
      <Shell>
        <Page route={routeOf(path)} />
      </Shell>
    </SignedIn>
  );
}
