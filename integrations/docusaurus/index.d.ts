import type { LoadContext, Plugin } from '@docusaurus/types';

declare function pluginCitewell(context: LoadContext, options: pluginCitewell.PluginOptions): Plugin;

declare namespace pluginCitewell {
  interface PluginOptions {
    /** The address of Citewell, with the path that it is served below, if any. */
    server: string;
    /** A publishable key: `citewell keys create NAME --publishable --origin https://…`. */
    key?: string;
    /** The book to ask, where the server has several. */
    book?: string;
    /** `light` or `dark`; by default the chat follows the site's switch. */
    theme?: string;
    /** Where the chat opens. */
    position?: string;
    /** The language of the chat's own words; by default that of the page. */
    language?: string;
  }

  function validateOptions(given: { options: Record<string, unknown> }): PluginOptions;
}

export = pluginCitewell;
