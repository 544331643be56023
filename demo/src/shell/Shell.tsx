// The frame around every page.

import type { MouseEvent, ReactNode } from "react";
import { Link } from "../navigation/Link";
import { paths } from "../navigation/routes";
import { ConnectionBanner } from "./ConnectionBanner";
import { Logo } from "./Logo";
import { Navigation } from "./Navigation";
import { Notices } from "./Notices";
import { WhoAmI } from "./WhoAmI";

function skipToPage(event: MouseEvent) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

export function Shell({ children }: { children: ReactNode }) {
  return (
    <div className="shell">
      <a className="skip" href="#main" onClick={skipToPage}>
        Skip to content
      </a>
      <header className="masthead">
        <Link to={paths.home} className="wordmark">
          <Logo />
          <span>Fanfold</span>
        </Link>
        <Navigation />
        <WhoAmI />
      </header>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <ConnectionBanner />
      <Notices />
    </div>
  );
}
