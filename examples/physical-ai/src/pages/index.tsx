import React, {type ReactNode} from 'react';
import {Redirect} from '@docusaurus/router';
import useBaseUrl from '@docusaurus/useBaseUrl';

/** The book has no landing page of its own: its root opens the introduction. */
export default function Home(): ReactNode {
  return <Redirect to={useBaseUrl('/book')} />;
}
