import type {Config} from '@docusaurus/types';
import type * as Preset from '@docusaurus/preset-classic';
import {themes as prismThemes} from 'prism-react-renderer';
import rehypeKatex from 'rehype-katex';
import remarkMath from 'remark-math';

const config: Config = {
  title: 'Physical AI: from Sensors to Humanoids',
  tagline: 'How machines sense, decide and move in the real world',
  favicon: 'img/logo.svg',

  url: 'https://physical-ai.example',
  baseUrl: '/physical-ai/',
  trailingSlash: false,

  onBrokenLinks: 'throw',
  onBrokenAnchors: 'throw',

  // `detect` parses .md files as CommonMark and .mdx files as MDX.
  markdown: {
    format: 'detect',
    hooks: {
      onBrokenMarkdownLinks: 'throw',
      onBrokenMarkdownImages: 'throw',
    },
  },

  i18n: {
    defaultLocale: 'en',
    locales: ['en'],
  },

  presets: [
    [
      'classic',
      {
        docs: {
          routeBasePath: 'book',
          sidebarPath: './sidebars.ts',
          remarkPlugins: [remarkMath],
          rehypePlugins: [rehypeKatex],
        },
        blog: false,
        theme: {
          customCss: './src/css/custom.css',
        },
      } satisfies Preset.Options,
    ],
  ],

  themeConfig: {
    navbar: {
      title: 'Physical AI',
      logo: {
        alt: 'A robot arm with two joints',
        src: 'img/logo.svg',
      },
      items: [
        {type: 'docSidebar', sidebarId: 'book', position: 'left', label: 'Read the book'},
        {type: 'doc', docId: 'glossary', position: 'left', label: 'Glossary'},
      ],
    },
    footer: {
      style: 'dark',
      copyright: '© The Citewell authors. Apache-2.0.',
    },
    prism: {
      theme: prismThemes.github,
      darkTheme: prismThemes.dracula,
      additionalLanguages: ['bash', 'cmake', 'json', 'python', 'yaml'],
    },
  } satisfies Preset.ThemeConfig,
};

export default config;
